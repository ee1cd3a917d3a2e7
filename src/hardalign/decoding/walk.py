"""Searches that follow one path per row: the best action at every step, or one drawn by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hardalign.data.vocabulary import BEGIN, END
from hardalign.decoding.history import LENGTH_LIMIT, History, Hypothesis, limits
from hardalign.runtime.interface import Memory, Runtime, State
from hardalign.runtime.numbers import Floats, Ints
from hardalign.runtime.words import Words

Choose = Callable[[Floats, Ints, int], Ints]
"""From log-probabilities [N, V], the walkers [N] they are of, and the number of the step to the
columns [N] that are chosen."""


def greedy(
    runtime: Runtime[Memory, State],
    memory: Memory,
    words: Words,
    which: Ints,
    tolerance: float = 0.0,
) -> list[Hypothesis]:
    """Takes the most probable next action at every step.

    Args:
        runtime: The model.
        memory: The words, read.
        words: The same, as numbers.
        which: [N] those of the words to answer.
        tolerance: How much probability may be left out of each step.
    """

    def choose(log_probs: Floats, _walkers: Ints, _step: int) -> Ints:
        return np.asarray(log_probs.argmax(-1))

    return _walk(runtime, memory, words, which, choose, tolerance)


def sample(
    runtime: Runtime[Memory, State], memory: Memory, words: Words, which: Ints, noise: Floats
) -> list[Hypothesis]:
    """Draws one string for each of some words from the model's distribution.

    Args:
        runtime: Its actions are drawn one after the other; so are the silent ones.
        memory: The words, read.
        words: The same, as numbers.
        which: [N] words to answer; a word may be answered several times.
        noise: [N, steps] independent and uniform in [0, 1), one for each action.
    """

    def choose(log_probs: Floats, walkers: Ints, step: int) -> Ints:
        mass = np.exp(log_probs.astype(np.float64)).cumsum(-1)
        # Ends at exactly 1, above all noise; what has no probability adds no mass to be hit.
        mass /= mass[:, -1:]
        return np.asarray((mass > noise[walkers, step, None]).argmax(-1))

    return _walk(runtime, memory, words, which, choose, 0.0)


def uniform_noise(seeds: Sequence[Sequence[int]], lengths: Sequence[int]) -> Floats:
    """Returns what ``sample`` needs, [N, steps]: each row depends on its own seed alone.

    Args:
        seeds: Some numbers for each row, which together are its seed.
        lengths: Of the rows' source words.
    """
    # As many symbols as the limit has, and a silent action for every source symbol.
    steps = [(LENGTH_LIMIT + 1) * length for length in lengths]
    rows = np.zeros((len(seeds), max(steps)))
    for row, seed, length in zip(rows, seeds, steps, strict=True):
        row[:length] = np.random.default_rng(seed).random(length)
    return rows


def _walk(
    runtime: Runtime[Memory, State],
    memory: Memory,
    words: Words,
    which: Ints,
    choose: Choose,
    tolerance: float,
) -> list[Hypothesis]:
    """Follows what is chosen, step by step, to the end; who is finished leaves the batch."""
    limit = limits(words)[which]  # [N]
    history = History(runtime.silent)
    scores = np.zeros(len(which))
    written = np.zeros(len(which), np.intp)
    prefixes = np.full(len(which), -1)
    last = np.full(len(which), BEGIN)
    state, rows = runtime.start(memory), which
    walkers = np.arange(len(which))  # those who are still on their way
    position = 0
    while len(walkers):
        step = runtime.step(state, rows, last[walkers], tolerance)
        state = step.state
        prefixes[walkers] = history.visit(prefixes[walkers], last[walkers], step.alpha)
        choice = choose(step.log_probs, walkers, position)
        scores[walkers] += step.log_probs[np.arange(len(walkers)), choice]
        last[walkers] = choice + END
        written[walkers] += choice + END != runtime.silent
        rows = np.flatnonzero((choice != 0) & (written[walkers] < limit[walkers]))
        walkers = walkers[rows]
        position += 1
    return history.hypotheses(prefixes, last, scores)
