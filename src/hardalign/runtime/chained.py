"""Hard attention whose alignments are a chain: the next position depends on the last one.

    p(a_i = j | a_{i-1} = k, y_<i, x) = softmax over j of h_i · T e_j + [G h_i + K e_k + b]_{j − k}

Jumps farther than the reach of G, K and b count as the farthest. A search carries the forward
vector along, so that each step's distribution is the exact p(y_i | y_<i, x).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hardalign.runtime.attention import Attention, Memory
from hardalign.runtime.chain import Chain
from hardalign.runtime.encoder import SourceStates
from hardalign.runtime.interface import Step
from hardalign.runtime.lattice import Lattice
from hardalign.runtime.numbers import Bools, Floats, Ints, log_softmax, logsumexp
from hardalign.runtime.output import Output
from hardalign.runtime.unfed import State, Unfed
from hardalign.runtime.words import Targets, Words


class ChainAttention(Attention):
    """Attention that also scores jumps."""

    def __init__(
        self, tensors: Mapping[str, Floats], name: str, hidden: int, monotone: bool
    ) -> None:
        super().__init__(tensors, name)
        weight, self._jump_bias = tensors[f"{name}.jump.weight"], tensors[f"{name}.jump.bias"]
        weight = np.ascontiguousarray(weight.T)
        self._jump_query, self._jump_key = weight[:hidden], weight[hidden:]
        self._reach = len(self._jump_bias) // 2
        self._monotone = monotone

    def remember(self, words: Words, states: SourceStates, output: Output) -> Memory:
        """Projects the encoder's states once for all steps, also to K e_k + b."""
        memory = super().remember(words, states, output)
        return replace(memory, jump_keys=states.project(self._jump_key, self._jump_bias).all)

    def jump_queries(self, decoded: Floats) -> Floats:
        """Returns G h, [..., jumps]."""
        return decoded @ self._jump_query

    def log_transition(
        self, queries: Floats, keys: Floats, scores: Floats, present: Bools
    ) -> Floats:
        """Returns log p(a_i = j | a_{i-1} = k), [N, J, J] at [:, k, j].

        Args:
            queries: [N, jumps]
            keys: [N, J, jumps]
            scores: [N, J] what attention sees in j; −inf at padding.
            present: [N, J] true at source symbols.
        """
        position = np.arange(scores.shape[1])
        distance = position - position[:, None]  # [J, J] of j from k
        jumps = queries[:, None] + keys  # [N, J, jumps] from k
        index = np.clip(distance, -self._reach, self._reach) + self._reach
        moves = jumps[:, position[:, None], index]  # [N, J, J]
        moves += scores[:, None]
        if self._monotone:
            # From padding, where nobody is, one may go anywhere: softmax needs somewhere to go.
            moves[(distance < 0) & present[:, :, None]] = -np.inf
        return log_softmax(moves)


class Chained(Unfed):
    """Each symbol is produced from one source position; paths of positions are summed exactly."""

    _attention: ChainAttention

    def _step(self, state: State, rows: Ints, symbols: Ints, tolerance: float) -> Step[State]:
        """Returns log p(· | y_<i, x), all alignments of the prefix summed."""
        before = _before(state, rows, symbols)
        state = self._advance(state, rows, symbols)
        memory, word, prefixes = state.memory, state.word, state.prefixes
        scores = self._attention.scores(memory, word, state.decoded)[:, 0]
        queries = self._attention.jump_queries(prefixes.states)[prefixes.row]
        keys, present = _jump_keys(memory)[word], memory.present[word]
        moves = self._attention.log_transition(queries, keys, scores, present)
        log_alpha = logsumexp(before[:, :, None] + moves, 1)
        mixture = self._mixture(state, log_alpha, tolerance)
        return Step(mixture.log_probs, np.exp(log_alpha), replace(state, mixture=mixture))

    def _follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Returns the exact lattice: a chain."""
        states, row = self._decoder.follow(targets, memory.tags)
        emission = self._emission(states, row, memory, targets)
        scores = self._attention.scores(memory, targets.word, states[row])  # [P, I, J]
        queries = self._attention.jump_queries(states)
        keys, present = _jump_keys(memory)[targets.word], memory.present[targets.word]

        def transitions(i: int) -> Floats:
            return self._attention.log_transition(queries[row[:, i]], keys, scores[:, i], present)

        return Chain(transitions, emission, targets.steps)


def _before(state: State, rows: Ints, symbols: Ints) -> Floats:
    """Returns log p(a_{i-1} = k | y_<i, x), [N, J]; the chain begins at the begin symbol."""
    if state.mixture is not None:
        return log_softmax(state.mixture.positions(rows, symbols))
    keys = _jump_keys(state.memory)
    before = np.full((len(rows), keys.shape[1]), -np.inf, keys.dtype)
    before[:, 0] = 0
    return before


def _jump_keys(memory: Memory) -> Floats:
    assert memory.jump_keys is not None  # the attention is a chain's
    return memory.jump_keys
