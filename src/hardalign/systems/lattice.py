"""All alignments of given pairs, with their probabilities, for each kind of system.

Log-probabilities work in any engine; posteriors, paths and samples are for inference, in NumPy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hardalign.errors import HardalignError
from hardalign.systems.ops import Array, Ops, Transitions

quiet = np.errstate(all="ignore")
"""For functions where exp may overflow (a closed gate), log may be taken of 0, or finite matrices
are multiplied: on rare occasions NumPy warns of invalid values in a product when neither the
operands nor the result have any."""


class Lattice(ABC):
    """The alignments of P given pairs, padded to I target symbols and J source symbols."""

    @abstractmethod
    def log_probs(self) -> Array:
        """Return log p(y_i | y_<i, x) [P, I] of every symbol, including the end; 0 at padding."""

    @abstractmethod
    def weights(self) -> Array:
        """Return where each symbol comes from [P, I, J]: posterior, attention weights or path."""

    def best_path(self) -> Array:
        """Return the source position of each symbol [P, I] in the most probable alignment."""
        return self.weights().argmax(-1)

    def samples(self, noise: Array) -> Array:
        """Draw whole alignments [P, I, S] from p(a | x, y).

        Args:
            noise: [P, I, S] independent and uniform in [0, 1).

        Raises:
            HardalignError: If the system has no distribution over alignments.
        """
        raise HardalignError("only systems with a posterior over alignments can sample them")


@dataclass(frozen=True)
class IndependentLattice(Lattice):
    """Hard attention: given both strings, the positions of different symbols are independent."""

    xp: Ops
    log_joint: Array  # [P, I, J] log α_j(i) + log p(y_i | j, y_<i, x)
    mask: Array  # [P, I] false at padding

    @quiet
    def log_probs(self) -> Array:
        """Sum over positions (eq. 1d)."""
        return self.xp.where(self.mask, self.xp.logsumexp(self.log_joint), 0.0)

    @quiet
    def weights(self) -> Array:
        """Return the posterior p(a_i = j | x, y) [P, I, J]."""
        return self.xp.exp(self.xp.log_softmax(self.log_joint))

    def samples(self, noise: Array) -> Array:
        return draw(self.weights()[:, :, None], noise)


@dataclass(frozen=True)
class WeightedLattice(Lattice):
    """Soft attention and `monotonic`: known scores and weights, no distribution over alignments."""

    scores: Array  # [P, I] log-probabilities of the symbols; 0 at padding
    alpha: Array  # [P, I, J] attention weights; one-hot for a pointer

    def log_probs(self) -> Array:
        return self.scores

    def weights(self) -> Array:
        return self.alpha


@dataclass(frozen=True)
class HMMLattice(Lattice):
    """Alignments as a Markov chain: each position depends on the previous one.

        p(y, a | x) = Π_i p(a_i | a_{i-1}, y_<i, x) p(y_i | a_i, y_<i, x),      a_0 = 0

    The forward algorithm gives p(y_i | y_<i, x). The backward pass asks where each step came from,

        p(a_{i-1} = k | a_i = j, y_<i, x) ∝ p(a_{i-1} = k | y_<i, x) p(a_i = j | a_{i-1} = k, …),

    and averages the answers (the posterior), takes the best (Viterbi), or samples one.
    """

    xp: Ops
    transitions: Transitions
    emission: Array  # [P, I, J] log p(y_i | a_i = j, y_<i, x); 0 at padding steps
    mask: Array  # [P, I] false at padding

    def log_probs(self) -> Array:
        return self.xp.where(self.mask, self._forward[0], 0.0)

    @quiet
    def weights(self) -> Array:
        """Return the posterior p(a_i = j | x, y) [P, I, J], by the forward–backward algorithm."""
        weights = np.exp(self._forward[1][:, 1:])
        for i in range(self.emission.shape[1] - 1, 0, -1):
            earlier = (np.exp(self._origins(i)) * weights[:, i, None]).sum(2)
            weights[:, i - 1] = np.where(self.mask[:, i, None], earlier, weights[:, i - 1])
        return weights

    @quiet
    def best_path(self) -> Array:
        """Return the most probable path [P, I], by the Viterbi algorithm."""
        pairs, steps, positions = self.emission.shape
        scores = np.full((pairs, steps + 1, positions), -np.inf, self.emission.dtype)
        scores[:, 0, 0] = 0
        for i in range(steps):
            best = (scores[:, i, :, None] + self._transition(i)).max(1) + self.emission[:, i]
            scores[:, i + 1] = best - best.max(-1, keepdims=True)
        path = scores[:, 1:].argmax(-1)  # correct for last steps; earlier ones follow
        for i in range(steps - 1, 0, -1):
            came = _at(scores[:, i, :, None] + self._transition(i), path[:, i, None])[..., 0]
            path[:, i - 1] = np.where(self.mask[:, i], came.argmax(-1), path[:, i - 1])
        return path

    @quiet
    def samples(self, noise: Array) -> Array:
        """Draw paths [P, I, S] from p(a | x, y), from the last step back."""
        paths = draw(np.exp(self._forward[1][:, 1:, None]), noise)
        for i in range(self.emission.shape[1] - 1, 0, -1):
            origins = _at(np.exp(self._origins(i)), paths[:, i])  # [P, J, S]
            came = draw(np.swapaxes(origins, 1, 2), noise[:, i - 1])
            paths[:, i - 1] = np.where(self.mask[:, i, None], came, paths[:, i - 1])
        return paths

    @cached_property
    @quiet
    def _forward(self) -> tuple[Array, Array]:
        return self.xp.forward(self.transitions, self.emission)

    def _transition(self, i: int) -> Array:
        """Return the transitions of one step, [P, J, J] at [:, k, j]."""
        return self.transitions(slice(i, i + 1))[:, 0]

    def _origins(self, i: int) -> Array:
        """Return log p(a_{i-1} = k | a_i = j, y_<i, x), [P, J, J] at [:, k, j]."""
        came = self._forward[1][:, i, :, None] + self._transition(i)
        total = self.xp.logsumexp(came, 1)[:, None]
        return came - np.where(np.isneginf(total), 0, total)


@dataclass(frozen=True)
class TagsBesideLattice(Lattice):
    """Alignments with begin, letters and end, with empty columns inserted for the tags."""

    xp: Ops
    lattice: Lattice
    columns: Array  # [P, J] ``Words.columns``

    def log_probs(self) -> Array:
        return self.lattice.log_probs()

    def weights(self) -> Array:
        return insert_tags(self.xp, self.lattice.weights(), self.columns[:, None], 2)

    def best_path(self) -> Array:
        return self._shifted(self.lattice.best_path()[:, :, None])[:, :, 0]

    def samples(self, noise: Array) -> Array:
        return self._shifted(self.lattice.samples(noise))

    def _shifted(self, paths: Array) -> Array:
        tag_counts = (self.columns < 0).sum(1)[:, None, None]
        return paths + np.where(paths > 0, tag_counts, 0)


def insert_tags(xp: Ops, weights: Array, columns: Array, axis: int) -> Array:
    """Insert zeros for tags into weights [..., J'], by ``Words.columns``; ``axis`` is the last."""
    inside = (columns >= 0) & (columns < weights.shape[axis])
    return xp.where(inside, xp.take(weights, xp.where(inside, columns, 0), axis), 0.0)


@quiet
def draw(weights: Array, noise: Array) -> Array:
    """Draw positions [...] in proportion to weights [..., J], from uniform noise [...]."""
    below = weights.cumsum(-1)
    # Strictly greater, and noise is below 1: a position of zero weight is never drawn.
    return (below > noise[..., None] * below[..., -1:]).argmax(-1)


def _at(table: Array, columns: Array) -> Array:
    """Take columns [P, S] of a table [P, J, J]: [P, J, S]."""
    return np.take_along_axis(table, columns[:, None], 2)
