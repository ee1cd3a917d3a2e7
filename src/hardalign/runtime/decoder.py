"""The target side: an LSTM over y_<i, a language model of the output (paper, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hardalign.data.vocabulary import BEGIN, UNKNOWN
from hardalign.runtime.lstm import LSTM, Carried, Hidden, begin_layers, distinct, step_layers
from hardalign.runtime.numbers import Floats, Ints, rows_of
from hardalign.runtime.words import Targets, Words


@dataclass(frozen=True)
class WordTags:
    """The tags beside words, as the decoder sees them; equal ones once."""

    words: Words
    """The words with their tags."""
    gates: Floats
    """[T, 4H] what distinct sets of tags add to the decoder's gates."""
    row: Ints
    """[N] which of them each word, hypothesis or prefix has."""

    def of(self, rows: Ints) -> WordTags:
        """Returns the tags of some of those that have them."""
        return replace(self, row=self.row[rows])


@dataclass(frozen=True)
class Prefixes:
    """What a decoder knows of distinct target prefixes, which hypotheses point to."""

    hidden: Hidden
    """Of M prefixes."""
    row: Ints
    """[N] the prefix of each hypothesis."""
    tags: WordTags | None
    """Those of the M prefixes, where tags are beside words."""

    @property
    def states(self) -> Floats:
        """[M, H] h_i, the decoder's state after each prefix."""
        return self.hidden[-1].h


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
        # Without tags all targets begin alike, which is read here, once for all of them.
        self._empty = begin_layers(self._layers, 1)
        zero = np.zeros(1, np.intp)
        begun = step_layers(self._layers, self._table[[BEGIN]], self._empty, zero)
        self._begun = tuple(
            Carried(h, c, h @ lstm.recurrent)
            for lstm, (h, c, _) in zip(self._layers, begun, strict=True)
        )

    def tags(self, words: Words) -> WordTags | None:
        """Returns the words' tags, where they are beside them; unknown ones count nothing."""
        if not len(self._tags):
            return None
        counts = words.count_tags(self._first_tag, len(self._tags))
        sets, row = np.unique(counts, axis=0, return_inverse=True)
        vectors = sets.astype(self._tags.dtype) @ self._tags
        gates = self._layers[0].project(vectors, self._tag_columns, bias=False)
        return WordTags(words, gates, row.reshape(-1))

    def begin(self, rows: int, tags: WordTags | None = None) -> Prefixes:
        """Returns the empty prefix for each of some hypotheses, which may have tags."""
        if tags is None:
            return Prefixes(self._empty, np.zeros(rows, np.intp), None)
        sets = len(tags.gates)
        hidden = begin_layers(self._layers, sets)
        return Prefixes(hidden, tags.row, replace(tags, row=np.arange(sets)))

    def step(self, prefixes: Prefixes, rows: Ints, symbols: Ints) -> Prefixes:
        """Continues the hypotheses ``rows`` [N] by one symbol [N] each; BEGIN is the first.

        Strangers are read as unknown.
        """
        if prefixes.hidden is self._empty:
            return Prefixes(self._begun, np.zeros(len(rows), np.intp), None)
        symbols = np.where(symbols < len(self._table), symbols, UNKNOWN)
        parents, ids, row = distinct(rows_of(prefixes.row, rows), symbols, len(self._table))
        projected = self._table.take(ids, 0)
        tags = None
        if prefixes.tags is not None:
            tags = prefixes.tags.of(parents)
            projected += tags.gates[tags.row]
        return Prefixes(step_layers(self._layers, projected, prefixes.hidden, parents), row, tags)

    def follow(self, targets: Targets, tags: WordTags | None = None) -> tuple[Floats, Ints]:
        """Reads given targets, whose words may have tags.

        Returns:
            States [M, H] of the distinct prefixes, and which of them each step [P, I] has.
        """
        every = np.arange(len(targets.word))
        prefixes = self.begin(len(every), tags and tags.of(targets.word))
        states, rows, count = [], [], 0
        for symbols in targets.previous.T:
            prefixes = self.step(prefixes, every, symbols)
            states.append(prefixes.states)
            rows.append(prefixes.row + count)
            count += len(prefixes.states)
        return np.concatenate(states), np.stack(rows, 1)
