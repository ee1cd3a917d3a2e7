"""Exact hard attention: α outside the softmax, a mixture over positions (paper, section 3)."""

from __future__ import annotations

import numpy as np

from hardalign.runtime.attention import Memory
from hardalign.runtime.interface import Step
from hardalign.runtime.lattice import Independent, Lattice
from hardalign.runtime.numbers import Ints, unwarned
from hardalign.runtime.output import Mixture
from hardalign.runtime.reader import State, Unfed
from hardalign.runtime.words import Targets


class Hard(Unfed):
    """Each symbol is produced from one source position, which is summed out exactly."""

    @unwarned
    def step(self, state: State, rows: Ints, symbols: Ints, tolerance: float = 0.0) -> Step[State]:
        """Returns log Σ_j α_j(i) p(· | j, y_<i, x)."""
        state, log_alpha = self._reader.advance(state, rows, symbols)
        mixture = Mixture.of(
            self._reader.output,
            self._reader.queries(state.prefixes),
            state.memory.output_keys,
            state.word,
            log_alpha,
            tolerance,
        )
        return Step(mixture.log_probs, np.exp(log_alpha), state)

    @unwarned
    def follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Returns the exact lattice: positions are independent given both strings."""
        reader = self._reader
        states, row = reader.decoder.follow(targets, memory.tags)
        log_alpha = reader.attention.log_alpha(memory, targets.word, states[row], 0)
        log_joint = reader.output.given(
            reader.output.queries(states), row, memory.output_keys, memory.present, targets
        )
        log_joint += log_alpha
        return Independent(log_joint, targets.steps)
