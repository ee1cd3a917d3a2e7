"""The hypotheses of a beam search, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from hardalign.data.vocabulary import BEGIN, END
from hardalign.runtime.numbers import Bools, Floats, Ints

_MIX = np.int64(0x9E3779B97F4A7C15 - (1 << 64))
"""The odd number nearest 2⁶⁴ / golden ratio, as a signed integer: it spreads bits well."""


@dataclass(frozen=True)
class Grid:
    """Hypotheses of W words, B for each, best first.

    Each is a row of the model's state and one action more.
    """

    word: Ints
    """[W] the words' places in the batch."""
    scores: Floats
    """[W, B] log-probabilities; −inf in cells without a hypothesis."""
    row: Ints
    """[W, B] the row of the state; any where there is no hypothesis."""
    action: Ints
    """[W, B] the number of the last action."""
    written: Ints
    """[W, B] how many symbols, the last included."""
    spelled: Ints
    """[W, B] a hash of the symbols: equal for paths that write the same string, and otherwise
    different, but for once in 2⁶⁴."""

    @classmethod
    def start(cls, words: int) -> Grid:
        """Returns one hypothesis for each word, which has written nothing."""
        word = np.arange(words)
        nothing = np.zeros((words, 1), np.int64)
        begun = np.full((words, 1), BEGIN)
        return cls(word, np.zeros((words, 1)), word[:, None], begun, nothing, nothing)

    def continued(self, log_probs: Floats, count: int, silent: int) -> Grid:
        """Returns the best ``count`` continuations of each word's hypotheses.

        Args:
            log_probs: [N, V] of the actions after each row of the state.
            count: At most.
            silent: The number of the action that writes nothing.
        """
        actions = log_probs.shape[1]
        scores = (self.scores[:, :, None] + log_probs[self.row]).reshape(len(self.word), -1)
        index = best_columns(scores, count)
        cell, action = index // actions, index % actions + END
        row, written, spelled = (
            np.take_along_axis(column, cell, 1) for column in (self.row, self.written, self.spelled)
        )
        writes = action != silent
        with np.errstate(over="ignore"):
            mixed = (spelled + action) * _MIX
        spelled = np.where(writes, mixed ^ (mixed >> 31), spelled)
        scores = np.take_along_axis(scores, index, 1)
        return Grid(self.word, scores, row, action, written + writes, spelled)

    def columns(self, index: Ints) -> Grid:
        """Returns some hypotheses of each word: columns [W, K]."""
        first, *rest = (getattr(self, field.name) for field in fields(self))
        return Grid(first, *(np.take_along_axis(column, index, 1) for column in rest))

    def where(self, mask: Bools) -> Grid:
        """Returns the hypotheses for which a mask [W, B] is true; other cells become empty."""
        return replace(self, scores=np.where(mask, self.scores, -np.inf))

    def compacted(self) -> tuple[Grid, Ints, Ints]:
        """Forgets words without hypotheses, and prepares the next step of those there are.

        Returns:
            The remaining words, whose hypotheses are rows of a new state; the rows of the old one
            [N] that it is made of; and the actions [N] that they take.
        """
        alive = self.scores > -np.inf
        words = np.flatnonzero(alive.any(1))
        alive = alive[words]
        grid = Grid(*(getattr(self, field.name)[words] for field in fields(self)))
        numbers = np.maximum(alive.cumsum() - 1, 0).reshape(alive.shape)
        return replace(grid, row=numbers), grid.row[alive], grid.action[alive]


def best_columns(scores: Floats, count: int) -> Ints:
    """Returns the columns [W, count] of the largest scores, best first; of equals the first."""
    if scores.shape[1] <= 4 * count:
        return np.argsort(-scores, 1, kind="stable")[:, :count]
    top = np.argpartition(-scores, count - 1, 1)[:, :count]
    top.sort(1)
    values = np.take_along_axis(scores, top, 1)
    columns = np.take_along_axis(top, np.argsort(-values, 1, kind="stable"), 1)
    least = values.min(1)
    tied = ((scores >= least[:, None]).sum(1) > count) & (least > -np.inf)
    if tied.any():  # which of the equals were taken is anybody's guess
        columns[tied] = np.argsort(-scores[tied], 1, kind="stable")[:, :count]
    return columns
