"""All alignments of given pairs, with their probabilities, as each kind of system has them.

Log-probabilities come from any engine; posteriors, paths and samples are for answering: NumPy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hardalign.errors import HardalignError
from hardalign.systems.ops import Array, Ops, Transitions

quiet = np.errstate(all="ignore")
"""For functions in which exp may overflow (a gate is shut) and log may be taken of 0, and in which
finite matrices are multiplied: in rare processes NumPy warns of invalid values there that neither
the operands nor the product have."""


class Lattice(ABC):
    """The alignments of P given pairs, padded to I target symbols and J source symbols."""

    @abstractmethod
    def log_probs(self) -> Array:
        """Returns log p(y_i | y_<i, x) [P, I] of every symbol, the end included; 0 at padding."""

    @abstractmethod
    def weights(self) -> Array:
        """Returns where each symbol comes from [P, I, J]: posterior, attention weights or path."""

    def best_path(self) -> Array:
        """Returns the source position of each symbol [P, I] in the most probable alignment."""
        return self.weights().argmax(-1)

    def samples(self, noise: Array) -> Array:  # noqa: ARG002
        """Draws whole alignments [P, I, S] from p(a | x, y).

        Args:
            noise: [P, I, S] independent and uniform in [0, 1).

        Raises:
            HardalignError: If the system has no distribution over alignments.
        """
        raise HardalignError("alignments can be drawn only where they have a posterior")


@dataclass(frozen=True)
class Independent(Lattice):
    """Hard attention: given both strings, the symbols' origins are independent of one another."""

    xp: Ops
    log_joint: Array
    """[P, I, J] log α_j(i) + log p(y_i | j, y_<i, x)."""
    steps: Array
    """[P, I] true at symbols, false at padding."""

    @quiet
    def log_probs(self) -> Array:
        """Returns the sums over positions [P, I] (eq. 1d)."""
        return self.xp.where(self.steps, self.xp.logsumexp(self.log_joint), 0.0)

    @quiet
    def weights(self) -> Array:
        """Returns the posterior p(a_i = j | x, y) [P, I, J]."""
        return self.xp.exp(self.xp.log_softmax(self.log_joint))

    def samples(self, noise: Array) -> Array:
        """Draws each symbol's position from its own posterior."""
        return draw(self.weights()[:, :, None], noise)


@dataclass(frozen=True)
class Weighted(Lattice):
    """Soft attention and pointers: scores and weights are known, and no alignment is random."""

    scores: Array
    """[P, I] log-probabilities of the symbols; 0 at padding."""
    alpha: Array
    """[P, I, J] the weights of a mix; of a pointer, 1 where it is and 0 elsewhere."""

    def log_probs(self) -> Array:
        """Returns the scores [P, I]."""
        return self.scores

    def weights(self) -> Array:
        """Returns the weights [P, I, J]."""
        return self.alpha


@dataclass(frozen=True)
class Chain(Lattice):
    """Alignments as a Markov chain: where a step looks depends on where the last one looked.

        p(y, a | x) = Π_i p(a_i | a_{i-1}, y_<i, x) p(y_i | a_i, y_<i, x),      a_0 = 0

    The forward algorithm gives p(y_i | y_<i, x). The way back asks at each step where it came from,

        p(a_{i-1} = k | a_i = j, y_<i, x) ∝ p(a_{i-1} = k | y_<i, x) p(a_i = j | a_{i-1} = k, …),

    and takes the mean of the answers (the posterior), the best (Viterbi), or a random one.
    """

    xp: Ops
    transitions: Transitions
    emission: Array
    """[P, I, J] log p(y_i | a_i = j, y_<i, x); 0 at padding steps."""
    steps: Array
    """[P, I] true at symbols, false at padding."""

    def log_probs(self) -> Array:
        """Returns log p(y_i | y_<i, x) [P, I], all paths summed."""
        return self.xp.where(self.steps, self._forward[0], 0.0)

    @quiet
    def weights(self) -> Array:
        """Returns the posterior p(a_i = j | x, y) [P, I, J], by the forward–backward algorithm."""
        weights = np.exp(self._forward[1][:, 1:])
        for i in range(self.emission.shape[1] - 1, 0, -1):
            earlier = (np.exp(self._origins(i)) * weights[:, i, None]).sum(2)
            weights[:, i - 1] = np.where(self.steps[:, i, None], earlier, weights[:, i - 1])
        return weights

    @quiet
    def best_path(self) -> Array:
        """Returns the most probable path [P, I], by the Viterbi algorithm."""
        pairs, steps, positions = self.emission.shape
        scores = np.full((pairs, steps + 1, positions), -np.inf, self.emission.dtype)
        scores[:, 0, 0] = 0
        for i in range(steps):
            best = (scores[:, i, :, None] + self._moves(i)).max(1) + self.emission[:, i]
            scores[:, i + 1] = best - best.max(-1, keepdims=True)
        path = scores[:, 1:].argmax(-1)  # right for each last step, to be mended before it
        for i in range(steps - 1, 0, -1):
            came = _at(scores[:, i, :, None] + self._moves(i), path[:, i, None])[..., 0]
            path[:, i - 1] = np.where(self.steps[:, i], came.argmax(-1), path[:, i - 1])
        return path

    @quiet
    def samples(self, noise: Array) -> Array:
        """Draws paths [P, I, S] from p(a | x, y), their last steps first."""
        paths = draw(np.exp(self._forward[1][:, 1:, None]), noise)
        for i in range(self.emission.shape[1] - 1, 0, -1):
            origins = _at(np.exp(self._origins(i)), paths[:, i])  # [P, J, S]
            came = draw(np.swapaxes(origins, 1, 2), noise[:, i - 1])
            paths[:, i - 1] = np.where(self.steps[:, i, None], came, paths[:, i - 1])
        return paths

    @cached_property
    @quiet
    def _forward(self) -> tuple[Array, Array]:
        return self.xp.forward(self.transitions, self.emission)

    def _moves(self, i: int) -> Array:
        """Returns the transitions of one step, [P, J, J] at [:, k, j]."""
        return self.transitions(slice(i, i + 1))[:, 0]

    def _origins(self, i: int) -> Array:
        """Returns log p(a_{i-1} = k | a_i = j, y_<i, x), [P, J, J] at [:, k, j]."""
        came = self._forward[1][:, i, :, None] + self._moves(i)
        total = self.xp.logsumexp(came, 1)[:, None]
        return came - np.where(np.isneginf(total), 0, total)


@dataclass(frozen=True)
class Rescored(Lattice):
    """The alignments of a lattice with other scores; each is made when it is needed."""

    make_alignments: Callable[[], Lattice]
    make_scores: Callable[[], Array]

    @cached_property
    def _alignments(self) -> Lattice:
        return self.make_alignments()

    def log_probs(self) -> Array:
        """Returns the other scores [P, I]."""
        return self.make_scores()

    def weights(self) -> Array:
        """Returns the lattice's weights [P, I, J]."""
        return self._alignments.weights()

    def best_path(self) -> Array:
        """Returns the lattice's path [P, I]."""
        return self._alignments.best_path()

    def samples(self, noise: Array) -> Array:
        """Draws from the lattice [P, I, S]."""
        return self._alignments.samples(noise)


@dataclass(frozen=True)
class BesideTags(Lattice):
    """Alignments of a model that sees no tags, in the columns of whole words.

    The columns of a word are begin, tags, letters and end. Where tags are beside words, the model
    looks at begin, letters and end, and nothing comes from a tag.
    """

    xp: Ops
    lattice: Lattice
    columns: Array
    """[P, J] where each symbol of a word is among begin, letters and end; −1 for tags."""
    tag_counts: Array
    """[P]"""

    def log_probs(self) -> Array:
        """Returns log p(y_i | y_<i, x) [P, I]."""
        return self.lattice.log_probs()

    def weights(self) -> Array:
        """Returns where each symbol comes from [P, I, J], never from a tag."""
        return spread(self.xp, self.lattice.weights(), self.columns[:, None], 2)

    def best_path(self) -> Array:
        """Returns the column of each symbol [P, I] in the most probable alignment."""
        path = self.lattice.best_path()
        return path + np.where(path > 0, self.tag_counts[:, None], 0)

    def samples(self, noise: Array) -> Array:
        """Draws whole alignments [P, I, S]."""
        paths = self.lattice.samples(noise)
        return paths + np.where(paths > 0, self.tag_counts[:, None, None], 0)


def spread(xp: Ops, weights: Array, columns: Array, axis: int) -> Array:
    """Spreads weights [..., J'] of begin, letters and end over whole words: [..., J].

    Args:
        xp: The engine.
        weights: They are 0 at padding.
        columns: [..., J] where each symbol of a word is among begin, letters and end; −1 for tags.
        axis: The last one.
    """
    inside = (columns >= 0) & (columns < weights.shape[axis])
    return xp.where(inside, xp.take(weights, xp.where(inside, columns, 0), axis), 0.0)


@quiet
def draw(weights: Array, noise: Array) -> Array:
    """Draws positions in proportion to weights [..., J], by noise of the leading shape."""
    below = weights.cumsum(-1)
    # More than a share below 1 of all: what has no weight adds nothing and is never the first.
    return (below > noise[..., None] * below[..., -1:]).argmax(-1)


def _at(table: Array, columns: Array) -> Array:
    """Takes columns [P, S] of a table [P, J, J]: [P, J, S]."""
    return np.take_along_axis(table, columns[:, None], 2)
