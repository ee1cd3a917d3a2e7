"""What decoding knows of a trained model: this interface and no more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from hardalign.runtime.lattice import Lattice
from hardalign.runtime.numbers import Floats, Ints
from hardalign.runtime.words import Targets, Words

Memory = TypeVar("Memory")
"""What a system keeps of source words that it has read."""
State = TypeVar("State")
"""What a system carries from step to step of a search."""


@dataclass(frozen=True)
class Step(Generic[State]):
    """One step of a search, one row per hypothesis."""

    log_probs: Floats
    """[N, V] of the next symbol: column 0 is the end, column k the letter numbered END + k. A
    system with a silent action has one more column for it; where words have letters that were never
    seen, which a model copies, these follow all others."""
    alpha: Floats
    """[N, J] where the model looks before the next symbol is known."""
    state: State
    """After this step, still to be told which hypotheses go on and by which symbol."""


class Runtime(ABC, Generic[Memory, State]):
    """A distribution over target strings for each source string."""

    symbols: int
    """How many symbols can be produced, the end included; besides, letters of a word that were
    never seen, where a model copies them."""
    silent: int = -1
    """Number of an action that writes nothing, so that a string can be written in many ways; −1 if
    there is none, and the steps of a string are its symbols. A model takes silent actions at most
    as often as there are source symbols."""

    @abstractmethod
    def read(self, words: Words) -> Memory:
        """Reads source words, once for all searches, scores and alignments."""

    @abstractmethod
    def start(self, memory: Memory) -> State:
        """Returns the state before the first step: one hypothesis for each word."""

    @abstractmethod
    def step(self, state: State, rows: Ints, symbols: Ints, tolerance: float = 0.0) -> Step[State]:
        """Continues hypotheses and says what may come next.

        Args:
            state: Of the hypotheses there were.
            rows: [N] those that go on; one may go on in several ways.
            symbols: [N] by which symbol each goes on; BEGIN at the first step.
            tolerance: How much of the probability may be left out where that saves time.
        """

    def actions(self, memory: Memory, targets: Targets) -> Ints:  # noqa: ARG002
        """Returns the numbers of the actions [P, K] that write given targets, then padding."""
        return targets.symbols

    @abstractmethod
    def follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Returns the alignments of given targets with the words they belong to."""

    def estimate(self, memory: Memory, targets: Targets, noise: Floats) -> Floats:  # noqa: ARG002
        """Returns log p(y | x) [P] of given targets, by chance where it cannot be computed.

        Args:
            memory: The source words.
            targets: P of them.
            noise: [P, I, S] independent and uniform in [0, 1), for S attempts.
        """
        return np.asarray(self.follow(memory, targets).log_probs().sum(1))
