"""Models whose attention sees no tags, in the columns that all others have.

The columns of a word are begin, tags, letters and end. A model with tags beside words looks at
begin, letters and end; what it says about them is told in the word's columns, with no weight at its
tags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

import numpy as np

from hardalign.runtime.encoder import source_columns
from hardalign.runtime.interface import Memory, Runtime, State, Step
from hardalign.runtime.lattice import Lattice
from hardalign.runtime.numbers import Floats, Ints
from hardalign.runtime.words import Targets, Words


@dataclass(frozen=True)
class BesideMemory(Generic[Memory]):
    """Source words that have been read."""

    memory: Memory
    words: Words
    """With their tags."""


@dataclass(frozen=True)
class BesideState(Generic[State]):
    """Hypotheses, and the words that they are of."""

    state: State
    words: Words
    word: Ints
    """[N]"""


class Beside(Runtime[BesideMemory[Memory], BesideState[State]]):
    """A model that looks at letters only."""

    def __init__(self, runtime: Runtime[Memory, State]) -> None:
        self._runtime = runtime
        self.symbols = runtime.symbols

    def read(self, words: Words) -> BesideMemory[Memory]:
        """Reads source words."""
        return BesideMemory(self._runtime.read(words), words)

    def start(self, memory: BesideMemory[Memory]) -> BesideState[State]:
        """Returns the state before the first step."""
        every = np.arange(len(memory.words))
        return BesideState(self._runtime.start(memory.memory), memory.words, every)

    def step(
        self, state: BesideState[State], rows: Ints, symbols: Ints, tolerance: float = 0.0
    ) -> Step[BesideState[State]]:
        """Returns what the model says, and where it looks in the words with their tags."""
        step = self._runtime.step(state.state, rows, symbols, tolerance)
        word = state.word[rows]
        alpha = in_columns(step.alpha[:, None], state.words, word)[:, 0]
        return Step(step.log_probs, alpha, BesideState(step.state, state.words, word))

    def follow(self, memory: BesideMemory[Memory], targets: Targets) -> Lattice:
        """Returns the model's alignments in the words with their tags."""
        lattice = self._runtime.follow(memory.memory, targets)
        return BesideLattice(lattice, memory.words, targets.word)


@dataclass(frozen=True)
class BesideLattice(Lattice):
    """Alignments of letters, told in the columns of words with their tags."""

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


def in_columns(weights: Floats, words: Words, word: Ints) -> Floats:
    """Returns weights [N, I, J] of weights of begin, letters and end, of rows that have a word."""
    length = words.symbols.shape[1]
    columns = source_columns(np.arange(weights.shape[2]), words.tag_counts[word, None])  # [N, J']
    spread = np.zeros((*weights.shape[:2], length), weights.dtype)
    row, place = np.nonzero(columns < length)
    spread[row, :, columns[row, place]] = weights[row, :, place]
    return spread
