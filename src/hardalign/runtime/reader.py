"""Systems without input feeding: they read sources and prefixes apart from each other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hardalign.runtime.attention import Attention, Memory
from hardalign.runtime.decoder import Decoder, Prefixes
from hardalign.runtime.encoder import Encoder, letters_only
from hardalign.runtime.interface import Runtime
from hardalign.runtime.numbers import Floats, Ints, unwarned
from hardalign.runtime.output import Output
from hardalign.runtime.words import Words


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
    """The parts that systems without input feeding share."""

    encoder: Encoder
    decoder: Decoder
    attention: Attention
    output: Output

    @unwarned
    def read(self, words: Words) -> Memory:
        """Reads source words."""
        tags = self.decoder.tags(words)
        if tags is not None:
            words = letters_only(words)
        memory = self.attention.remember(words, self.encoder(words), self.output)
        return replace(memory, tags=tags)

    def start(self, memory: Memory) -> State:
        """Returns the state before the first step."""
        every = np.arange(len(memory.words))
        return State(memory, every, self.decoder.begin(len(every), memory.tags), 0)

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


class Unfed(Runtime[Memory, State]):
    """A system whose steps depend on the prefix and the source words alone."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.symbols = reader.output.symbols

    def read(self, words: Words) -> Memory:
        """Reads source words."""
        return self._reader.read(words)

    def start(self, memory: Memory) -> State:
        """Returns the state before the first step."""
        return self._reader.start(memory)
