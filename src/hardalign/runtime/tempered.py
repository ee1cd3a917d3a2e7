"""A model whose next-symbol distributions are flattened or sharpened by one number, T.

    p_T(y_i | y_<i, x) = p(y_i | y_<i, x)^(1/T) / Σ_y p(y | y_<i, x)^(1/T)

It is applied to the finished distribution of each step, mixtures over positions and members
included, so that it means the same for every system, and strings keep a proper distribution. What
is most probable at a step stays so. Given both strings, p_T(y | x) is p(y | x) times a factor in
which no alignment occurs: p(a | x, y) stays what it was.
"""

from __future__ import annotations

import math
from dataclasses import replace

from hardalign.errors import HardalignError
from hardalign.runtime.interface import Memory, Runtime, State, Step
from hardalign.runtime.lattice import Lattice, Rescored
from hardalign.runtime.numbers import Ints, log_softmax, unwarned
from hardalign.runtime.steps import scores_of_steps
from hardalign.runtime.words import Targets, Words


class Tempered(Runtime[Memory, State]):
    """A runtime at some temperature; 1 would change nothing."""

    def __init__(self, runtime: Runtime[Memory, State], temperature: float) -> None:
        if not 0 < temperature < math.inf:
            raise HardalignError(f"the temperature must be above 0 and finite, not {temperature}")
        self._runtime = runtime
        self._temperature = temperature
        self.symbols, self.silent = runtime.symbols, runtime.silent

    def read(self, words: Words) -> Memory:
        """Reads source words."""
        return self._runtime.read(words)

    def start(self, memory: Memory) -> State:
        """Returns the state before the first step."""
        return self._runtime.start(memory)

    @unwarned
    def step(self, state: State, rows: Ints, symbols: Ints, tolerance: float = 0.0) -> Step[State]:
        """Returns what the model says, at the temperature."""
        step = self._runtime.step(state, rows, symbols, tolerance)
        return replace(step, log_probs=log_softmax(step.log_probs / self._temperature))

    def actions(self, memory: Memory, targets: Targets) -> Ints:
        """Returns the model's own actions."""
        return self._runtime.actions(memory, targets)

    def follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Returns the model's alignments, the same at any temperature, with scores at this one."""
        return Rescored(
            lambda: self._runtime.follow(memory, targets),
            lambda: scores_of_steps(self, memory, targets),
        )
