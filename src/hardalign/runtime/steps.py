"""Given targets, step by step, with the whole distribution that a search would meet at each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hardalign.data.vocabulary import BEGIN, END, PAD
from hardalign.runtime.interface import Memory, Runtime, State
from hardalign.runtime.numbers import Floats, Ints
from hardalign.runtime.words import Targets


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
