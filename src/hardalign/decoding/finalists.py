"""The strings that a beam search has completed so far."""

from __future__ import annotations

import numpy as np

from hardalign.decoding.grid import Grid
from hardalign.runtime.numbers import Floats, Ints, logsumexp, unwarned


class Finalists:
    """For each word the best strings that are complete, best first."""

    def __init__(self, words: int, width: int, merge: bool) -> None:
        """Makes room.

        Args:
            words: In the batch.
            width: How many strings to keep for each.
            merge: Whether paths may write the same string, so that they must be added up.
        """
        self.scores: Floats = np.full((words, width), -np.inf)
        """[words, width], −inf where there is no string yet."""
        # Of each string: the prefix before its last action, that action, and its hash.
        self.prefix, self.last, self._spelled = (
            np.zeros((words, width), np.int64) for _ in range(3)
        )
        self._merge = merge

    def add(self, grid: Grid, prefixes: Ints) -> None:
        """Takes in hypotheses that continue ``prefixes`` [N], the rows of the state."""
        some = np.flatnonzero((grid.scores > -np.inf).any(1))
        if not len(some):
            return
        word, width = grid.word[some], self.scores.shape[1]
        scores = np.concatenate([self.scores[word], grid.scores[some]], 1)
        columns = [
            np.concatenate([old[word], new], 1)
            for old, new in (
                (self.prefix, prefixes[grid.row[some]]),
                (self.last, grid.action[some]),
                (self._spelled, grid.spelled[some]),
            )
        ]
        if self._merge:
            scores = _merged(scores, columns[2])
        order = np.argsort(-scores, 1, kind="stable")[:, :width]
        self.scores[word] = np.take_along_axis(scores, order, 1)
        for old, new in zip((self.prefix, self.last, self._spelled), columns, strict=True):
            old[word] = np.take_along_axis(new, order, 1)

    def to_beat(self, word: Ints, keep: int, mass: float) -> Floats:
        """Returns the score [W] below which a string of these words is not wanted any more.

        That of the last of the ``keep`` best, or of the last that is needed for the ``mass``.
        """
        scores = self.scores[word, :keep]
        last = (np.exp(scores).cumsum(1) < mass).sum(1, keepdims=True)
        return np.take_along_axis(scores, np.minimum(last, keep - 1), 1)[:, 0]

    def runner_up(self, word: Ints, keep: int) -> Floats:
        """Returns the best score [W] that is not among the ``keep`` best."""
        if keep == self.scores.shape[1]:
            return np.full(len(word), -np.inf)
        return np.asarray(self.scores[word, keep])


@unwarned
def _merged(scores: Floats, spelled: Ints) -> Floats:
    """Returns scores [W, M] where a string's first cell has the sum of all, the others none."""
    same = spelled[:, :, None] == spelled[:, None]  # [W, M, M]
    sums = logsumexp(np.where(same, scores[:, None], -np.inf), 2)
    earlier = np.tril(same, -1) & (scores > -np.inf)[:, None]
    return np.where(earlier.any(2) | np.isneginf(scores), -np.inf, sums)
