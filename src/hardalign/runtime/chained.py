"""Hard attention whose alignments are a chain: the next position depends on the last one.

    p(a_i = j | a_{i-1} = k, y_<i, x) = softmax over j of h_i · T e_j + [G h_i + K e_k + b]_{j − k}

Jumps farther than the reach of G, K and b count as the farthest. A search carries the forward
vector along, so that each step's distribution is the exact p(y_i | y_<i, x).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hardalign.runtime.attention import Attention, Memory
from hardalign.runtime.chain import Chain
from hardalign.runtime.encoder import SourceStates
from hardalign.runtime.interface import Runtime, Step
from hardalign.runtime.lattice import Lattice
from hardalign.runtime.numbers import Bools, Floats, Ints, log_softmax, logsumexp, unwarned
from hardalign.runtime.output import Mixture
from hardalign.runtime.reader import Reader, State
from hardalign.runtime.words import Targets, Words


class Jumps:
    """The part of the moves that says how far to go."""

    def __init__(
        self, tensors: Mapping[str, Floats], name: str, hidden: int, monotone: bool
    ) -> None:
        weight, self._bias = tensors[f"{name}.jump.weight"], tensors[f"{name}.jump.bias"]
        self._query, self._key = weight[:, :hidden].T, weight[:, hidden:]
        self._reach = len(self._bias) // 2
        self._monotone = monotone

    def queries(self, decoded: Floats) -> Floats:
        """Returns G h, [..., jumps]."""
        return decoded @ self._query

    def keys(self, states: SourceStates) -> Floats:
        """Returns K e_k + b, [B, J, jumps]."""
        return states.project(self._key, self._bias).all

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


@dataclass(frozen=True)
class ChainMemory:
    """Source words, and where one goes from their symbols."""

    memory: Memory
    jump_keys: Floats
    """[B, J, jumps]"""


@dataclass(frozen=True)
class ChainState:
    """Hypotheses, and where the last symbol may have come from, whichever symbol it is."""

    state: State
    jump_keys: Floats
    """[B, J, jumps] of the words."""
    mixture: Mixture | None
    """None before the first step, when the chain is at the begin symbols."""


class Chained(Runtime[ChainMemory, ChainState]):
    """Each symbol is produced from one source position; paths of positions are summed exactly."""

    def __init__(self, reader: Reader, attention: Attention, jumps: Jumps) -> None:
        self._reader = reader
        self.symbols = reader.output.symbols
        self._attention = attention
        self._jumps = jumps

    @unwarned
    def read(self, words: Words) -> ChainMemory:
        """Reads source words."""
        memory = self._reader.read(words)
        return ChainMemory(memory, self._jumps.keys(memory.states))

    def start(self, memory: ChainMemory) -> ChainState:
        """Returns the state before the first step."""
        return ChainState(self._reader.start(memory.memory), memory.jump_keys, None)

    @unwarned
    def step(
        self, state: ChainState, rows: Ints, symbols: Ints, tolerance: float = 0.0
    ) -> Step[ChainState]:
        """Returns log p(· | y_<i, x), all alignments of the prefix summed."""
        before = self._before(state, rows, symbols)
        reader, memory = self._reader, state.state.memory
        prefixes = reader.decoder.step(state.state.prefixes, rows, symbols)
        word = state.state.word[rows]
        scores = self._attention.scores(memory, word, prefixes.states[prefixes.row][:, None])[:, 0]
        queries = self._jumps.queries(prefixes.states)[prefixes.row]
        present = memory.present[word]
        moves = self._jumps.log_transition(queries, state.jump_keys[word], scores, present)
        log_alpha = logsumexp(before[:, :, None] + moves, 1)
        mixture = Mixture.of(
            reader.output, reader.queries(prefixes), memory.output_keys, word, log_alpha, tolerance
        )
        after = State(memory, word, prefixes, state.state.steps + 1)
        return Step(
            mixture.log_probs, np.exp(log_alpha), ChainState(after, state.jump_keys, mixture)
        )

    def _before(self, state: ChainState, rows: Ints, symbols: Ints) -> Floats:
        """Returns log p(a_{i-1} = k | y_<i, x), [N, J]."""
        if state.mixture is None:
            keys = state.jump_keys
            before = np.full((len(rows), keys.shape[1]), -np.inf, keys.dtype)
            before[:, 0] = 0
            return before
        return log_softmax(state.mixture.positions(rows, symbols))

    @unwarned
    def follow(self, memory: ChainMemory, targets: Targets) -> Lattice:
        """Returns the exact lattice: a chain."""
        reader, source, word = self._reader, memory.memory, targets.word
        states, row = reader.decoder.follow(targets, source.tags)
        emission = reader.output.given(
            reader.output.queries(states), row, source.output_keys, source.present, targets
        )
        scores = self._attention.scores(source, word, states[row])  # [P, I, J]
        queries = self._jumps.queries(states)
        keys, present = memory.jump_keys[word], source.present[word]

        def transitions(i: int) -> Floats:
            return self._jumps.log_transition(queries[row[:, i]], keys, scores[:, i], present)

        return Chain(transitions, emission, targets.steps)
