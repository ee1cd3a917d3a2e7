"""Sums over alignments that are a Markov chain: where a step looks depends on the step before.

    p(y, a | x) = Π_i p(a_i | a_{i-1}, y_<i, x) p(y_i | a_i, y_<i, x),      a_0 = 0

One recursion runs forward over the steps. With log-sum-exp it gives p(y_i | y_<i, x), with the
maximum the best path. The way back asks at each step where it came from,

    p(a_{i-1} = k | a_i = j, y_<i, x) ∝ p(a_{i-1} = k | y_<i, x) p(a_i = j | a_{i-1} = k, y_<i, x),

and takes the mean of the answers (the posterior), the best of them (Viterbi), or a random one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hardalign.runtime.lattice import Lattice, draw
from hardalign.runtime.numbers import Bools, Floats, Ints, logsumexp, unwarned

Plus = Callable[[Floats, int], Floats]
"""The sum of a semiring, of log-probabilities along an axis."""


@dataclass(frozen=True)
class Chain(Lattice):
    """Paths through the source positions."""

    transitions: Callable[[int], Floats]
    """From a step i to log p(a_i = j | a_{i-1} = k, y_<i, x), [P, J, J] at [:, k, j]."""
    emission: Floats
    """[P, I, J] log p(y_i | a_i = j, y_<i, x); 0 at padding steps."""
    steps: Bools
    """[P, I] true at symbols, false at padding."""

    def log_probs(self) -> Floats:
        """Returns log p(y_i | y_<i, x) [P, I], all paths summed."""
        return self._summed[1]

    def weights(self) -> Floats:
        """Returns the posterior p(a_i = j | x, y) [P, I, J], by the forward–backward algorithm."""
        filtered, _ = self._summed
        weights = np.exp(filtered[:, 1:])
        for i in range(self.emission.shape[1] - 1, 0, -1):
            origins = self._origins(i, filtered)  # [P, J, J]
            earlier = (np.exp(origins) * weights[:, i, None]).sum(2)
            weights[:, i - 1] = np.where(self.steps[:, i, None], earlier, weights[:, i - 1])
        return weights

    def best_path(self) -> Ints:
        """Returns the most probable path [P, I], by the Viterbi algorithm."""
        scores, _ = self._forward(np.max)
        path = scores[:, 1:].argmax(-1)  # right for each last step, to be mended before it
        for i in range(self.emission.shape[1] - 1, 0, -1):
            came = scores[:, i, :, None] + self.transitions(i)
            came = _at(came, path[:, i, None])[..., 0].argmax(-1)
            path[:, i - 1] = np.where(self.steps[:, i], came, path[:, i - 1])
        return np.asarray(path)

    def samples(self, noise: Floats) -> Ints:
        """Draws paths [P, I, S] from p(a | x, y), their last steps first."""
        filtered, _ = self._summed
        paths = draw(np.exp(filtered[:, 1:, None]), noise)
        for i in range(self.emission.shape[1] - 1, 0, -1):
            origins = _at(np.exp(self._origins(i, filtered)), paths[:, i])  # [P, J, S]
            came = draw(np.swapaxes(origins, 1, 2), noise[:, i - 1])
            paths[:, i - 1] = np.where(self.steps[:, i, None], came, paths[:, i - 1])
        return paths

    @cached_property
    def _summed(self) -> tuple[Floats, Floats]:
        return self._forward(logsumexp)

    @unwarned
    def _forward(self, plus: Plus) -> tuple[Floats, Floats]:
        """Runs the recursion in a semiring, normalised at every step.

        Returns:
            Scores of the positions before the first step and after every step, [P, I + 1, J], and
            what was divided out at each, [P, I]: with log-sum-exp p(a_i | y_≤i, x) and
            p(y_i | y_<i, x).
        """
        pairs, steps, positions = self.emission.shape
        scores = np.full((pairs, steps + 1, positions), -np.inf, self.emission.dtype)
        scores[:, 0, 0] = 0
        factors = np.zeros((pairs, steps), self.emission.dtype)
        for i in range(steps):
            arrived = plus(scores[:, i, :, None] + self.transitions(i), 1) + self.emission[:, i]
            factors[:, i] = plus(arrived, -1)
            scores[:, i + 1] = arrived - factors[:, i, None]
        return scores, np.where(self.steps, factors, 0)

    @unwarned
    def _origins(self, i: int, filtered: Floats) -> Floats:
        """Returns log p(a_{i-1} = k | a_i = j, y_<i, x), [P, J, J] at [:, k, j]."""
        came = filtered[:, i, :, None] + self.transitions(i)
        total = logsumexp(came, 1)[:, None]
        return came - np.where(np.isneginf(total), 0, total)


def _at(table: Floats, columns: Ints) -> Floats:
    """Takes columns [P, S] of a table [P, J, J]: [P, J, S]."""
    return np.take_along_axis(table, columns[:, None], 2)
