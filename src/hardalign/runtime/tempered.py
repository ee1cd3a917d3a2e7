"""A model whose next-symbol distributions are flattened or sharpened by one number, T.

    p_T(y_i | y_<i, x) = p(y_i | y_<i, x)^(1/T) / Σ_y p(y | y_<i, x)^(1/T)

It is applied to the finished distribution of each step, mixtures over positions and members
included, so that it means the same for every system, and strings keep a proper distribution. What
is most probable at a step stays so. Given both strings, p_T(y | x) is p(y | x) times a factor in
which no alignment occurs: p(a | x, y) stays what it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from hardalign.data.vocabulary import BEGIN, END, PAD
from hardalign.errors import HardalignError
from hardalign.runtime.interface import Memory, Runtime, State, Step
from hardalign.runtime.lattice import Lattice, Rescored
from hardalign.runtime.numbers import Floats, Ints, log_softmax, unwarned
from hardalign.runtime.words import Targets, Words


@dataclass(frozen=True)
class Taken:
    """One step of given targets: what might have come next, and what did."""

    target: Ints
    """[N] the targets that have come so far."""
    symbol: Ints
    """[N] the place of the symbol that each is about to write."""
    column: Ints
    """[N] of what comes next."""
    log_probs: Floats
    """[N, V]"""


def taken(runtime: Runtime[Memory, State], memory: Memory, targets: Targets) -> Iterator[Taken]:
    """Yields the whole distribution of every step along given targets."""
    actions = runtime.actions(memory, targets)  # [P, K]
    lengths = (actions != PAD).sum(1)
    target, rows = np.arange(len(actions)), targets.word
    symbol = np.zeros(len(actions), np.intp)
    state, previous = runtime.start(memory), np.full(len(actions), BEGIN)
    for position, action in enumerate(actions.T):
        step = runtime.step(state, rows, previous)
        column = action[target] - END
        yield Taken(target, symbol[target], column, step.log_probs)
        symbol += action != runtime.silent
        state, rows = step.state, np.flatnonzero(lengths[target] > position + 1)
        target = target[rows]
        previous = action[target]


def scores_of_steps(runtime: Runtime[Memory, State], memory: Memory, targets: Targets) -> Floats:
    """Returns log p(y_i | y_<i, x) [P, I] of given targets, as a search would meet them."""
    scores = np.zeros(targets.symbols.shape)
    for step in taken(runtime, memory, targets):
        chosen = step.log_probs[np.arange(len(step.target)), step.column]
        scores[step.target, step.symbol] += chosen
    return scores


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
