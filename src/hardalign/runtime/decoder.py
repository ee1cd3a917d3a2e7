"""The target side: an LSTM over y_<i, a language model of the output (paper, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hardalign.runtime.lstm import LSTM, distinct
from hardalign.runtime.numbers import Floats, Ints


@dataclass(frozen=True)
class Prefixes:
    """What a decoder knows of distinct target prefixes, which hypotheses point to."""

    h: tuple[Floats, ...]
    """For each layer [M, H]."""
    c: tuple[Floats, ...]
    """For each layer [M, H]."""
    row: Ints
    """[N] the prefix of each hypothesis."""

    @property
    def states(self) -> Floats:
        """[M, H] h_i, the decoder's state after each prefix."""
        return self.h[-1]


class Decoder:
    """Summarises the symbols produced so far; starts from a zero state.

    Its states depend on the prefix alone and not on the source word: words whose targets begin
    alike share them.
    """

    def __init__(self, tensors: Mapping[str, Floats], layers: int) -> None:
        self._layers = [LSTM(tensors, "decoder.lstm", f"_l{k}") for k in range(layers)]
        self._table = self._layers[0].project(tensors["decoder.embedding.weight"])  # [V, 4H]

    def begin(self, rows: int) -> Prefixes:
        """Returns the empty prefix for each of some hypotheses."""
        zeros = tuple(lstm.zeros(1) for lstm in self._layers)
        return Prefixes(zeros, zeros, np.zeros(rows, np.intp))

    def step(self, prefixes: Prefixes, rows: Ints, symbols: Ints) -> Prefixes:
        """Continues the hypotheses ``rows`` [N] by one symbol [N] each."""
        parents, ids, row = distinct(prefixes.row[rows], symbols, len(self._table))
        projected = self._table[ids]
        hs: list[Floats] = []
        cs: list[Floats] = []
        for lstm, h, c in zip(self._layers, prefixes.h, prefixes.c, strict=True):
            if hs:
                projected = lstm.project(hs[-1])
            h, c = lstm.step(projected, h[parents], c[parents])
            hs.append(h)
            cs.append(c)
        return Prefixes(tuple(hs), tuple(cs), row)

    def follow(self, previous: Ints) -> tuple[Floats, Ints]:
        """Reads given targets, shifted by one symbol, [P, I].

        Returns:
            States [M, H] of the distinct prefixes, and which of them each step [P, I] has.
        """
        prefixes = self.begin(len(previous))
        every = np.arange(len(previous))
        states, rows, count = [], [], 0
        for symbols in previous.T:
            prefixes = self.step(prefixes, every, symbols)
            states.append(prefixes.states)
            rows.append(prefixes.row + count)
            count += len(prefixes.states)
        return np.concatenate(states), np.stack(rows, 1)
