"""All alignments of given pairs, with their probabilities, as each kind of system has them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hardalign.errors import HardalignError
from hardalign.runtime.numbers import Bools, Floats, Ints, log_softmax, logsumexp, unwarned
from hardalign.runtime.words import Words, source_columns


class Lattice(ABC):
    """The alignments of P given pairs, padded to I target symbols and J source symbols."""

    @abstractmethod
    def log_probs(self) -> Floats:
        """Returns log p(y_i | y_<i, x) [P, I] of every symbol, the end included; 0 at padding."""

    @abstractmethod
    def weights(self) -> Floats:
        """Returns where each symbol comes from [P, I, J]: posterior, attention weights or path."""

    def best_path(self) -> Ints:
        """Returns the source position of each symbol [P, I] in the most probable alignment."""
        return np.asarray(self.weights().argmax(-1))

    def samples(self, noise: Floats) -> Ints:  # noqa: ARG002
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

    log_joint: Floats
    """[P, I, J] log α_j(i) + log p(y_i | j, y_<i, x)."""
    steps: Bools
    """[P, I] true at symbols, false at padding."""

    def log_probs(self) -> Floats:
        """Returns the sums over positions [P, I] (eq. 1d)."""
        return np.where(self.steps, logsumexp(self.log_joint), 0)

    def weights(self) -> Floats:
        """Returns the posterior p(a_i = j | x, y) [P, I, J]."""
        return np.exp(log_softmax(self.log_joint))

    def samples(self, noise: Floats) -> Ints:
        """Draws each symbol's position from its own posterior."""
        return draw(self.weights()[:, :, None], noise)


@dataclass(frozen=True)
class Weighted(Lattice):
    """Soft attention and pointers: scores and α are known, and no alignment is left to chance."""

    scores: Floats
    """[P, I] log-probabilities of the symbols; 0 at padding."""
    alpha: Floats
    """[P, I, J] the weights of a mix; of a pointer, 1 where it is and 0 elsewhere."""

    def log_probs(self) -> Floats:
        """Returns the scores [P, I]."""
        return self.scores

    def weights(self) -> Floats:
        """Returns α [P, I, J]."""
        return self.alpha


@dataclass(frozen=True)
class Rescored(Lattice):
    """The alignments of a lattice with other scores; each is made when it is needed."""

    make_alignments: Callable[[], Lattice]
    make_scores: Callable[[], Floats]

    @cached_property
    def _alignments(self) -> Lattice:
        return self.make_alignments()

    def log_probs(self) -> Floats:
        """Returns the other scores [P, I]."""
        return self.make_scores()

    def weights(self) -> Floats:
        """Returns the lattice's weights [P, I, J]."""
        return self._alignments.weights()

    def best_path(self) -> Ints:
        """Returns the lattice's path [P, I]."""
        return self._alignments.best_path()

    def samples(self, noise: Floats) -> Ints:
        """Draws from the lattice [P, I, S]."""
        return self._alignments.samples(noise)


@dataclass(frozen=True)
class BesideLattice(Lattice):
    """Alignments of models whose attention sees no tags, in the columns that all others have.

    The columns of a word are begin, tags, letters and end. Where tags are beside words, the model
    looks at begin, letters and end, and nothing comes from a tag.
    """

    lattice: Lattice
    words: Words
    word: Ints
    """[P]"""

    def log_probs(self) -> Floats:
        """Returns log p(y_i | y_<i, x) [P, I]."""
        return self.lattice.log_probs()

    def weights(self) -> Floats:
        """Returns where each symbol comes from [P, I, J], never from a tag."""
        return in_columns(self.lattice.weights(), self.words, self.word)

    def best_path(self) -> Ints:
        """Returns the column of each symbol [P, I] in the most probable alignment."""
        tags = self.words.tag_counts[self.word, None]
        return source_columns(self.lattice.best_path(), tags)

    def samples(self, noise: Floats) -> Ints:
        """Draws whole alignments [P, I, S]."""
        tags = self.words.tag_counts[self.word, None, None]
        return source_columns(self.lattice.samples(noise), tags)


@unwarned
def draw(weights: Floats, noise: Floats) -> Ints:
    """Draws positions in proportion to weights [..., J], by noise of the leading shape."""
    below = weights.cumsum(-1)
    # More than a share below 1 of all: what has no weight adds nothing and is never the first.
    return np.asarray((below > noise[..., None] * below[..., -1:]).argmax(-1))


def in_columns(weights: Floats, words: Words, word: Ints) -> Floats:
    """Spreads weights [N, I, J'] of begin, letters and end of rows that have a word: [N, I, J]."""
    length = words.symbols.shape[1]
    columns = source_columns(np.arange(weights.shape[2]), words.tag_counts[word, None])  # [N, J']
    spread = np.zeros((*weights.shape[:2], length), weights.dtype)
    row, place = np.nonzero(columns < length)
    spread[row, :, columns[row, place]] = weights[row, :, place]
    return spread
