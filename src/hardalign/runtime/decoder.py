"""The target side: an LSTM over y_<i, a language model of the output (paper, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hardalign.runtime.lstm import LSTM, distinct
from hardalign.runtime.numbers import Floats, Ints
from hardalign.runtime.words import Targets, Words


@dataclass(frozen=True)
class Prefixes:
    """What a decoder knows of distinct target prefixes, which hypotheses point to."""

    h: tuple[Floats, ...]
    """For each layer [M, H]."""
    c: tuple[Floats, ...]
    """For each layer [M, H]."""
    row: Ints
    """[N] the prefix of each hypothesis."""
    tags: Ints | None = None
    """[M] the row of ``WordTags.gates`` that each prefix has, where tags are beside words."""
    gates: Floats | None = None
    """Those of ``WordTags``."""

    @property
    def states(self) -> Floats:
        """[M, H] h_i, the decoder's state after each prefix."""
        return self.h[-1]


@dataclass(frozen=True)
class WordTags:
    """The tags beside words, as the decoder sees them; equal ones once."""

    gates: Floats
    """[T, 4H] what distinct sets of tags add to the decoder's gates."""
    row: Ints
    """[N] which of them each word or hypothesis has."""


class Decoder:
    """Summarises the symbols produced so far; starts from a zero state.

    Its states depend on the prefix, and on tags that are beside the word, and not on the source
    word: words whose targets begin alike share them.
    """

    def __init__(self, tensors: Mapping[str, Floats], layers: int, tags: int = 0) -> None:
        """Makes a decoder; the last ``tags`` source symbols are tags beside words."""
        self._layers = [LSTM(tensors, "decoder.lstm", f"_l{k}") for k in range(layers)]
        embedding, source = tensors["decoder.embedding.weight"], tensors["encoder.embedding.weight"]
        split = embedding.shape[1]
        self._table = self._layers[0].project(embedding, slice(0, split))  # [V, 4H]
        self._first_tag = len(source) - tags
        self._tags = source[self._first_tag :]  # [tags, embedding]
        self._tag_columns = slice(split, None)

    def tags(self, words: Words) -> WordTags | None:
        """Returns the words' tags, where they are beside them; unknown ones count nothing."""
        if not len(self._tags):
            return None
        column = np.arange(words.symbols.shape[1])
        number = words.symbols - self._first_tag
        word, place = np.nonzero((column <= words.tag_counts[:, None]) & (number >= 0))
        counts = np.zeros((len(words), len(self._tags)), self._tags.dtype)
        np.add.at(counts, (word, number[word, place]), 1)
        sets, row = np.unique(counts, axis=0, return_inverse=True)
        gates = self._layers[0].project(sets @ self._tags, self._tag_columns, bias=False)
        return WordTags(gates, row.reshape(-1))

    def begin(self, rows: int, tags: WordTags | None = None) -> Prefixes:
        """Returns the empty prefix for each of some hypotheses, which may have tags."""
        if tags is None:
            zeros = tuple(lstm.zeros(1) for lstm in self._layers)
            return Prefixes(zeros, zeros, np.zeros(rows, np.intp))
        zeros = tuple(lstm.zeros(len(tags.gates)) for lstm in self._layers)
        return Prefixes(zeros, zeros, tags.row, np.arange(len(tags.gates)), tags.gates)

    def step(self, prefixes: Prefixes, rows: Ints, symbols: Ints) -> Prefixes:
        """Continues the hypotheses ``rows`` [N] by one symbol [N] each."""
        parents, ids, row = distinct(prefixes.row[rows], symbols, len(self._table))
        projected = self._table[ids]
        tags = None
        if prefixes.tags is not None and prefixes.gates is not None:
            tags = prefixes.tags[parents]
            projected += prefixes.gates[tags]
        hs: list[Floats] = []
        cs: list[Floats] = []
        for lstm, h, c in zip(self._layers, prefixes.h, prefixes.c, strict=True):
            if hs:
                projected = lstm.project(hs[-1])
            h, c = lstm.step(projected, h[parents], c[parents])
            hs.append(h)
            cs.append(c)
        return Prefixes(tuple(hs), tuple(cs), row, tags, prefixes.gates)

    def follow(self, targets: Targets, tags: WordTags | None = None) -> tuple[Floats, Ints]:
        """Reads given targets, whose words may have tags.

        Returns:
            States [M, H] of the distinct prefixes, and which of them each step [P, I] has.
        """
        if tags is not None:
            tags = replace(tags, row=tags.row[targets.word])
        every = np.arange(len(targets.word))
        prefixes = self.begin(len(every), tags)
        states, rows, count = [], [], 0
        for symbols in targets.previous.T:
            prefixes = self.step(prefixes, every, symbols)
            states.append(prefixes.states)
            rows.append(prefixes.row + count)
            count += len(prefixes.states)
        return np.concatenate(states), np.stack(rows, 1)
