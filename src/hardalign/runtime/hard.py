"""Exact hard attention: α outside the softmax, a mixture over positions (paper, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardalign.runtime.attention import Attention, Memory
from hardalign.runtime.decoder import Decoder, Prefixes
from hardalign.runtime.encoder import Encoder
from hardalign.runtime.interface import Runtime, Step
from hardalign.runtime.lattice import Independent, Lattice
from hardalign.runtime.numbers import Floats, Ints, unwarned
from hardalign.runtime.output import Mixture, Output
from hardalign.runtime.words import Targets, Words


@dataclass(frozen=True)
class State:
    """Hypotheses: the words they are of, what they have written, and how many steps that took."""

    memory: Memory
    word: Ints
    """[N]"""
    prefixes: Prefixes
    steps: int


@dataclass(frozen=True)
class Reader:
    """The parts that systems without input feeding share: they read sources and prefixes apart."""

    encoder: Encoder
    decoder: Decoder
    attention: Attention
    output: Output

    @unwarned
    def read(self, words: Words) -> Memory:
        """Reads source words."""
        return self.attention.remember(words, self.encoder(words), self.output)

    def start(self, memory: Memory) -> State:
        """Returns the state before the first step."""
        return State(memory, np.arange(len(memory.words)), self.decoder.begin(len(memory.words)), 0)

    def advance(self, state: State, rows: Ints, symbols: Ints) -> tuple[State, Floats]:
        """Continues hypotheses; returns the next state and its log α [N, J]."""
        prefixes = self.decoder.step(state.prefixes, rows, symbols)
        word = state.word[rows]
        decoded = prefixes.states[prefixes.row][:, None]
        log_alpha = self.attention.log_alpha(state.memory, word, decoded, state.steps)[:, 0]
        return State(state.memory, word, prefixes, state.steps + 1), log_alpha

    def queries(self, prefixes: Prefixes) -> Floats:
        """Returns the decoder half of S(h ⊕ e) of each hypothesis, [N, d_s]."""
        return np.asarray(self.output.queries(prefixes.states)[prefixes.row])


class Hard(Runtime[Memory, State]):
    """Each symbol is produced from one source position, which is summed out exactly."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.symbols = reader.output.symbols

    def read(self, words: Words) -> Memory:
        """Reads source words."""
        return self._reader.read(words)

    def start(self, memory: Memory) -> State:
        """Returns the state before the first step."""
        return self._reader.start(memory)

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
        states, row = reader.decoder.follow(targets.previous)
        log_alpha = reader.attention.log_alpha(memory, targets.word, states[row], 0)
        log_joint = reader.output.given(
            reader.output.queries(states), row, memory.output_keys, memory.present, targets
        )
        log_joint += log_alpha
        return Independent(log_joint, targets.steps)
