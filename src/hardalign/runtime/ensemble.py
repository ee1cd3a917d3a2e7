"""Several models as one: the mixture of their distributions over whole strings.

    p(y | x) = 1/M Σ_m p_m(y | x)

A member whose prefixes were more probable counts for more in what comes next:

    p(y_i | y_<i, x) = Σ_m w_m(y_<i) p_m(y_i | y_<i, x),   w_m(y_<i) ∝ p_m(y_<i | x)

So the ensemble is a latent variable more, the member, and summed over exactly. Its posterior is
p(a | x, y) = Σ_m p(m | x, y) p_m(a | x, y), where p(m | x, y) ∝ p_m(y | x).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hardalign.data.vocabulary import END
from hardalign.errors import HardalignError
from hardalign.runtime.interface import Runtime, Step
from hardalign.runtime.lattice import Lattice, draw
from hardalign.runtime.numbers import Floats, Ints, log_softmax, logsumexp, unwarned
from hardalign.runtime.words import Targets, Words

Memories = tuple[Any, ...]
"""What each member keeps of source words."""


@dataclass(frozen=True)
class EnsembleState:
    """The members' states, and how well each has explained the hypotheses' prefixes."""

    states: tuple[Any, ...]
    log_weights: Floats
    """[M, N] log w_m, before the symbol that is still to be chosen."""
    log_probs: Floats | None
    """[M, N, V] of that symbol; None before the first step."""


class Ensemble(Runtime[Memories, EnsembleState]):
    """A mixture of models, which must have the same symbols."""

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

    def read(self, words: Words) -> Memories:
        """Reads source words by every member."""
        return tuple(member.read(words) for member in self._members)

    def start(self, memory: Memories) -> EnsembleState:
        """Returns the state before the first step, when all members count alike."""
        states = tuple(member.start(own) for member, own in zip(self._members, memory, strict=True))
        return EnsembleState(states, np.zeros((len(states), 1)), None)

    @unwarned
    def step(
        self, state: EnsembleState, rows: Ints, symbols: Ints, tolerance: float = 0.0
    ) -> Step[EnsembleState]:
        """Returns the members' distributions, each weighted by how it explains the prefix."""
        steps = [
            member.step(own, rows, symbols, tolerance)
            for member, own in zip(self._members, state.states, strict=True)
        ]
        if state.log_probs is None:
            log_weights = np.full((len(steps), len(rows)), -np.log(len(steps)))
        else:
            explained = state.log_probs[:, rows, symbols - END]
            log_weights = log_softmax(state.log_weights[:, rows] + explained, 0)
        log_probs = np.stack([step.log_probs for step in steps])
        alpha = np.einsum("mn,mnj->nj", np.exp(log_weights), [step.alpha for step in steps])
        after = EnsembleState(tuple(step.state for step in steps), log_weights, log_probs)
        return Step(logsumexp(log_weights[:, :, None] + log_probs, 0), alpha, after)

    def actions(self, memory: Memories, targets: Targets) -> Ints:
        """Returns the first member's actions."""
        return self._members[0].actions(memory[0], targets)

    def follow(self, memory: Memories, targets: Targets) -> Lattice:
        """Returns the mixture of the members' lattices."""
        return Joined(
            [member.follow(own, targets) for member, own in zip(self._members, memory, strict=True)]
        )


@dataclass(frozen=True)
class Joined(Lattice):
    """The alignments of all members."""

    members: Sequence[Lattice]

    @cached_property
    def _prefixes(self) -> Floats:
        """log p_m of each target up to each symbol, [M, P, I]."""
        scores = np.stack([member.log_probs() for member in self.members])
        return np.asarray(scores.cumsum(-1, dtype=np.float64))

    @cached_property
    def _posterior(self) -> Floats:
        """p(m | x, y), [M, P]."""
        return np.exp(log_softmax(self._prefixes[:, :, -1], 0))

    def log_probs(self) -> Floats:
        """Returns what each symbol takes from the log-probability of the prefix [P, I]."""
        mixed = logsumexp(self._prefixes, 0) - np.log(len(self.members))
        return np.diff(mixed, prepend=0)

    def weights(self) -> Floats:
        """Returns the members' weights, mixed as they explain the targets [P, I, J]."""
        return np.asarray(
            sum(
                share[:, None, None] * member.weights()
                for share, member in zip(self._posterior, self.members, strict=True)
            )
        )

    def samples(self, noise: Floats) -> Ints:
        """Draws a member by its posterior, then one of its alignments."""
        shares = self._posterior.T[:, None]  # [P, 1, M]
        member = draw(shares, noise[:, 0])  # [P, S]
        share = np.take_along_axis(shares[:, 0], member, 1)
        below = np.take_along_axis(shares[:, 0].cumsum(1), member, 1) - share
        # Within the share of the member that was drawn, the noise is uniform once more.
        rest = np.clip((noise[:, 0] - below) / share, 0, np.nextafter(1, 0))
        noise = np.concatenate([rest[:, None], noise[:, 1:]], 1)
        drawn = np.stack([lattice.samples(noise) for lattice in self.members])  # [M, P, I, S]
        return np.asarray(np.take_along_axis(drawn, member[None, :, None], 0)[0])
