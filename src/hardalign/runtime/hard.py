"""Exact hard attention: α outside the softmax, a mixture over positions (paper, section 3)."""

from __future__ import annotations

import numpy as np

from hardalign.runtime.attention import Memory
from hardalign.runtime.interface import Step
from hardalign.runtime.lattice import Independent, Lattice
from hardalign.runtime.numbers import Ints
from hardalign.runtime.reader import State, Unfed
from hardalign.runtime.words import Targets


class Hard(Unfed):
    """Each symbol is produced from one source position, which is summed out exactly."""

    def _step(self, state: State, rows: Ints, symbols: Ints, tolerance: float) -> Step[State]:
        """Returns log Σ_j α_j(i) p(· | j, y_<i, x)."""
        state = self._reader.advance(state, rows, symbols)
        log_alpha = self._reader.log_alpha(state)
        mixture = self._reader.mixture(state, log_alpha, tolerance)
        return Step(mixture.log_probs, np.exp(log_alpha), state)

    def _follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Returns the exact lattice: positions are independent given both strings."""
        states, row = self._reader.decoder.follow(targets, memory.tags)
        log_alpha = self._reader.attention.log_alpha(memory, targets.word, states[row], 0)
        log_joint = self._reader.given(states, row, memory, targets)
        log_joint += log_alpha
        return Independent(log_joint, targets.steps)
