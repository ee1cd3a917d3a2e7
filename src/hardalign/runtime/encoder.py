"""The source side: a bidirectional LSTM (paper, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hardalign.data.vocabulary import BEGIN, END, UNKNOWN
from hardalign.runtime.lstm import LSTM, BothWaysReader
from hardalign.runtime.numbers import Floats, Ints
from hardalign.runtime.words import Words


@dataclass(frozen=True)
class BothWays:
    """Two vectors for each source symbol: one from its left and one from its right.

    Words that begin alike share the first, words that end alike the second, so that both are kept
    in tables of what is distinct.
    """

    ahead: Floats
    """[M, D] from reading left to right."""
    back: Floats
    """[M', D] from reading right to left."""
    ahead_row: Ints
    """[B, J] the row of ``ahead`` that each symbol has; any at padding."""
    back_row: Ints
    """[B, J] likewise."""


class SourceVectors(BothWays):
    """A vector for each source symbol, the sum of its two."""

    def at(self, word: Ints, position: Ints) -> Floats:
        """Returns the vectors [R, D] of single symbols."""
        vectors = self.ahead.take(self.ahead_row[word, position], 0)
        vectors += self.back.take(self.back_row[word, position], 0)
        return vectors

    @cached_property
    def all(self) -> Floats:
        """[B, J, D] the vectors of all symbols."""
        vectors = self.ahead.take(self.ahead_row, 0)
        vectors += self.back.take(self.back_row, 0)
        return vectors


class SourceStates(BothWays):
    """The encoder's states: of each symbol, one of width H from each direction."""

    def project(self, weight: Floats, bias: Floats | None = None) -> SourceVectors:
        """Returns e_j mapped by a weight [2H, D], and a bias [D] if there is one.

        A weight whose rows lie one after the other saves half the time.
        """
        size = self.ahead.shape[1]
        ahead = self.ahead @ weight[:size]
        if bias is not None:
            ahead += bias
        back = self.back @ weight[size:]
        return SourceVectors(ahead, back, self.ahead_row, self.back_row)

    def side_by_side(self) -> Floats:
        """Returns the states of all symbols, both directions: [B, J, 2H]."""
        return np.concatenate([self.ahead[self.ahead_row], self.back[self.back_row]], -1)


class Encoder:
    """Reads source words from both ends; padding is never read before a word."""

    def __init__(self, tensors: Mapping[str, Floats], layers: int) -> None:
        (ahead, back), *self._upper = (
            (LSTM(tensors, f"encoder.forwards.{k}"), LSTM(tensors, f"encoder.backwards.{k}"))
            for k in range(layers)
        )
        embedding = tensors["encoder.embedding.weight"]
        self._symbols = len(embedding)
        self._reader = BothWaysReader(ahead, back, embedding, BEGIN, END)

    def __call__(self, words: Words) -> SourceStates:
        """Returns the states of the words' symbols; strangers are read as unknown."""
        symbols = np.where(words.symbols < self._symbols, words.symbols, UNKNOWN)
        position = np.arange(symbols.shape[1])
        mirrored = words.lengths[:, None] - 1 - position  # [B, J]
        mirrored = np.where(mirrored >= 0, mirrored, position)
        row = np.arange(len(words))[:, None]
        (ahead, ahead_row), (back, back_row) = self._reader.read(symbols, symbols[row, mirrored])
        states = SourceStates(ahead, back, ahead_row, back_row[row, mirrored])
        for ahead_lstm, back_lstm in self._upper:
            # What comes from both sides is a word's own: nothing is shared from here on.
            below = states.side_by_side()
            rows = np.arange(symbols.size).reshape(symbols.shape)
            ahead = _read_vectors(ahead_lstm, below)
            back = _read_vectors(back_lstm, below[row, mirrored])
            states = SourceStates(ahead, back, rows, rows[row, mirrored])
        return states


def _read_vectors(lstm: LSTM, inputs: Floats) -> Floats:
    """Returns the states [B · J, H] after each of the vectors [B, J, ·], from left to right."""
    projected = lstm.project(inputs)
    states = np.empty((*inputs.shape[:2], lstm.size), projected.dtype)
    carried = lstm.begin(len(inputs))
    for j in range(inputs.shape[1]):
        carried = lstm.step(projected[:, j], carried)
        states[:, j] = carried.h
    return states.reshape(-1, lstm.size)
