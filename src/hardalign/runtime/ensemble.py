"""Several models as one: the mean of their probabilities of the next symbol, at every step.

    p(y_i | y_<i, x) = 1/M Σ_m p_m(y_i | y_<i, x)

It is as if a member were drawn anew for each symbol, and summed over: a proper distribution over
strings, whose log p(y | x) is exact. (The mixture of whole strings, whose members count as they
explain the prefix, was tried and found less of development data probable.) Given both strings, a
member's share in a symbol is p(m_i = m | x, y) ∝ p_m(y_i | y_<i, x), and the posterior is

    p(a_i = j | x, y) = Σ_m p(m_i = m | x, y) p_m(a_i = j | x, y)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hardalign.errors import HardalignError
from hardalign.runtime.interface import Runtime, Step
from hardalign.runtime.lattice import Lattice, Rescored, draw
from hardalign.runtime.numbers import Floats, Ints, log_softmax, logsumexp, unwarned, widened
from hardalign.runtime.steps import scores_of_steps
from hardalign.runtime.words import Targets, Words

Each = tuple[Any, ...]
"""What each member keeps of source words, or of hypotheses."""


class Ensemble(Runtime[Each, Each]):
    """The mean of models, which must have the same symbols."""

    def __init__(self, members: Sequence[Runtime[Any, Any]]) -> None:
        if not members:
            raise HardalignError("an ensemble needs members")
        if len({(member.symbols, member.silent) for member in members}) > 1:
            raise HardalignError(
                "members of an ensemble must write with the same symbols, all of them with a "
                "pointer or none"
            )
        self._members = tuple(members)
        self.symbols, self.silent = members[0].symbols, members[0].silent

    def read(self, words: Words) -> Each:
        """Reads source words by every member."""
        return tuple(member.read(words) for member in self._members)

    def start(self, memory: Each) -> Each:
        """Returns the members' states before the first step."""
        return tuple(member.start(own) for member, own in zip(self._members, memory, strict=True))

    @unwarned
    def step(self, state: Each, rows: Ints, symbols: Ints, tolerance: float = 0.0) -> Step[Each]:
        """Returns the mean of the members' distributions, and of where they look."""
        steps = [
            member.step(own, rows, symbols, tolerance)
            for member, own in zip(self._members, state, strict=True)
        ]
        # Members that copy may write letters of these words that others cannot.
        columns = max(step.log_probs.shape[1] for step in steps)
        log_probs = _mean(np.stack([widened(step.log_probs, columns) for step in steps]))
        alpha = np.mean([step.alpha for step in steps], 0)
        return Step(log_probs, alpha, tuple(step.state for step in steps))

    def actions(self, memory: Each, targets: Targets) -> Ints:
        """Returns the first member's actions."""
        return self._members[0].actions(memory[0], targets)

    def follow(self, memory: Each, targets: Targets) -> Lattice:
        """Returns the members' lattices together."""
        lattices = [
            member.follow(own, targets) for member, own in zip(self._members, memory, strict=True)
        ]
        joined = Joined(lattices)
        if self.silent < 0:
            return joined
        # Of a pointer the actions are averaged, several of which may belong to a symbol.
        return Rescored(lambda: joined, lambda: scores_of_steps(self, memory, targets))


@dataclass(frozen=True)
class Joined(Lattice):
    """The alignments of all members."""

    members: Sequence[Lattice]

    @cached_property
    def _scores(self) -> Floats:
        """The members' log p_m(y_i | y_<i, x), [M, P, I]."""
        return np.stack([member.log_probs() for member in self.members])

    @cached_property
    def _shares(self) -> Floats:
        """The members' shares in each symbol p(m_i = m | x, y), [M, P, I]."""
        return np.exp(log_softmax(self._scores, 0))

    def log_probs(self) -> Floats:
        """Returns log p(y_i | y_<i, x) [P, I]."""
        return _mean(self._scores)

    def weights(self) -> Floats:
        """Returns the members' weights, mixed by their shares in each symbol [P, I, J]."""
        weights = [member.weights() for member in self.members]
        return np.asarray(np.einsum("mpi,mpij->pij", self._shares, weights))

    def samples(self, noise: Floats) -> Ints:
        """Draws a member for each symbol, and its position from an alignment of that member.

        What is drawn for a symbol has the posterior; neighbours may come from different members.
        """
        shares = np.moveaxis(self._shares, 0, -1)  # [P, I, M]
        member = draw(shares[:, :, None], noise)  # [P, I, S]
        share = np.take_along_axis(shares, member, 2)
        below = np.take_along_axis(shares.cumsum(2), member, 2) - share
        # Within the share of the member that was drawn, the noise is uniform once more.
        rest = np.clip((noise - below) / share, 0, np.nextafter(1, 0))
        positions = np.stack([lattice.samples(rest) for lattice in self.members])  # [M, P, I, S]
        return np.asarray(np.take_along_axis(positions, member[None], 0)[0])


def _mean(log_probs: Floats) -> Floats:
    """Returns the logarithm of the mean probability over members, the first axis."""
    return np.asarray(logsumexp(log_probs, 0) - np.log(len(log_probs)).astype(log_probs.dtype))
