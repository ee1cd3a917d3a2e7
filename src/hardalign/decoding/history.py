"""What a search has seen, and the strings that come out of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardalign.data.vocabulary import END
from hardalign.runtime.numbers import Floats, Ints
from hardalign.runtime.words import Words

LENGTH_LIMIT = 4
"""A search stops at this many times the source length, begin and end symbols included."""


def limits(words: Words) -> Ints:
    """Returns how many symbols may be written for each source word, [B]."""
    return LENGTH_LIMIT * words.lengths


@dataclass(frozen=True)
class Hypothesis:
    """A target string that a search came to."""

    symbols: list[int]
    """Numbers of its letters, without the end."""
    log_prob: float
    """log p(y | x), end included."""
    finished: bool
    """False where the length limit cut it off before the model produced an end; its probability
    is then that of all strings that begin with it."""
    alpha: Floats
    """[len(symbols) + 1 or less, J] where the model looked at each step, the end's included."""


class History:
    """Every prefix that a search has continued, as a tree: each knows the one before it.

    Nothing is copied while hypotheses multiply and die; strings are read off at the end.
    """

    def __init__(self, silent: int) -> None:
        self._silent = silent
        self._parents: list[Ints] = []
        self._actions: list[Ints] = []
        self._alphas: list[Floats] = []
        self._size = 0

    def visit(self, parents: Ints, actions: Ints, alpha: Floats) -> Ints:
        """Remembers prefixes that are about to be continued.

        Args:
            parents: [N] the prefixes that these continue, −1 for none.
            actions: [N] by what: the numbers of symbols, or the model's silent action.
            alpha: [N, J] where the model looks next.

        Returns:
            Their numbers, [N].
        """
        self._parents.append(parents)
        self._actions.append(actions)
        self._alphas.append(alpha)
        first, self._size = self._size, self._size + len(parents)
        return np.arange(first, self._size)

    def hypotheses(self, prefixes: Ints, last: Ints, scores: Floats) -> list[Hypothesis]:
        """Reads off strings: ``prefixes`` [E], each continued by one ``last`` action [E]."""
        parents, actions = np.concatenate(self._parents), np.concatenate(self._actions)
        alphas = np.concatenate(self._alphas)
        ancestors = [prefixes]
        while (ancestors[-1] >= 0).any():
            node = ancestors[-1]
            ancestors.append(np.where(node >= 0, parents[node], -1))
        paths = np.stack(ancestors[::-1], 1)  # [E, T], −1 before the first
        actions = np.concatenate([actions[paths[:, 1:]], last[:, None]], 1)  # after each prefix
        first = (paths < 0).sum(1).tolist()
        hypotheses = []
        for path, chosen, start, score in zip(paths, actions, first, scores.tolist(), strict=True):
            path, chosen = path[start:], chosen[start:]
            if self._silent >= 0:
                writing = chosen != self._silent
                path, chosen = path[writing], chosen[writing]
            symbols = chosen.tolist()
            finished = symbols[-1:] == [END]
            symbols = symbols[:-1] if finished else symbols
            hypotheses.append(Hypothesis(symbols, score, finished, alphas[path]))
        return hypotheses
