"""Soft attention: α inside the softmax, one mixed context vector (paper, section 5)."""

from __future__ import annotations

import numpy as np

from hardalign.runtime.attention import Memory
from hardalign.runtime.interface import Step
from hardalign.runtime.lattice import Lattice, Weighted
from hardalign.runtime.numbers import Floats, Ints, of_words, tanh_
from hardalign.runtime.reader import State, Unfed
from hardalign.runtime.words import Targets


class Soft(Unfed):
    """Each symbol is produced from a weighted mean of the source states."""

    def _step(self, state: State, rows: Ints, symbols: Ints, tolerance: float) -> Step[State]:
        """Returns log softmax(W f(h_i, c_i)); nothing of the mix is left out."""
        del tolerance
        state = self._reader.advance(state, rows, symbols)
        alpha = np.exp(self._reader.log_alpha(state))
        queries = self._reader.queries(state.prefixes)
        log_probs = self._log_probs(queries[:, None], alpha[:, None], state.memory, state.word)
        return Step(log_probs[:, 0], alpha, state)

    def _follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Returns attention weights, and scores that are exact (eq. 8)."""
        reader = self._reader
        states, row = reader.decoder.follow(targets, memory.tags)
        alpha = np.exp(reader.attention.log_alpha(memory, targets.word, states[row], 0))
        queries = reader.output.queries(states)[row]
        log_probs = self._log_probs(queries, alpha, memory, targets.word)
        chosen = np.take_along_axis(log_probs, targets.classes[..., None], -1)[..., 0]
        return Weighted(np.where(targets.steps, chosen, 0), alpha)

    def _log_probs(self, queries: Floats, alpha: Floats, memory: Memory, word: Ints) -> Floats:
        """Returns [N, I, V]; the encoder half of S commutes with the mixing of states."""
        joint = alpha @ of_words(memory.output_keys.vectors.all, word)
        joint += queries
        return self._reader.output.log_probs(tanh_(joint))
