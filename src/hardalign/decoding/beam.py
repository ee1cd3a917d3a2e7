"""Beam search: several hypotheses side by side, for many words at once."""

from __future__ import annotations

from itertools import islice, zip_longest

import numpy as np

from hardalign.data.vocabulary import BEGIN, END
from hardalign.decoding.finalists import Finalists
from hardalign.decoding.grid import Grid
from hardalign.decoding.history import History, Hypothesis, limits
from hardalign.decoding.walk import greedy
from hardalign.runtime.interface import Memory, Runtime, State
from hardalign.runtime.numbers import Bools, Ints, logsumexp
from hardalign.runtime.words import Words

SLACK = 1e-4
"""How far apart the log-probabilities of one string may be that were computed in other company."""


def beam_search(
    runtime: Runtime[Memory, State],
    memory: Memory,
    words: Words,
    which: Ints,
    width: int,
    *,
    keep: int = 1,
    mass: float = 1.0,
    tolerance: float = 0.0,
) -> list[list[Hypothesis]]:
    """Returns the most probable strings among those that a beam of some width meets.

    At every step the ``width`` best continuations of a word go on; an end that is among the
    ``width`` best of all is kept. A word is done as soon as nothing that goes on can still be
    among the strings that are wanted: log-probabilities only fall. Ties go to the better
    hypothesis, then to the lower symbol, so that a beam of width 1 is greedy search.

    Where a model has a silent action, hypotheses are paths, and paths that write the same string
    are added up as they end: the sum is over the paths that were met, a lower bound. Otherwise,
    where a single string is wanted, greedy search goes first: of what is less probable than its
    answer, nothing is followed, which halves the work.

    Args:
        runtime: Takes its steps with the hypotheses of all words as rows.
        memory: The words, read.
        words: The same, as numbers.
        which: [W] those of the words to answer.
        width: Of the beam.
        keep: How many different strings to find for each word, at most ``width``.
        mass: Fewer will do, if together they have this probability.
        tolerance: How much probability may be left out of each step.

    Returns:
        For each word up to ``keep`` strings, best first. Where none was finished, the best that the
        length limit cut off is the only answer.
    """
    paths = runtime.silent >= 0
    history = History(runtime.silent)
    finished, cut_off = (Finalists(len(which), width, paths) for _ in range(2))
    limit = limits(words)[which]
    shortest, position = int(limit.min()), 0
    quick: list[Hypothesis] = []
    floor = np.full(len(which), -np.inf)  # what is less probable is not followed
    if not paths and width > keep == 1:
        quick = greedy(runtime, memory, words, which, tolerance)
        floor[:] = [best.log_prob - SLACK if best.finished else -np.inf for best in quick]
    grid, state, rows = Grid.start(len(which)), runtime.start(memory), which
    previous = np.full(len(which), BEGIN)  # [N]
    prefixes = np.full(len(which), -1)  # [N]
    while len(rows):
        step = runtime.step(state, rows, previous, tolerance)
        prefixes = history.visit(prefixes, previous, step.alpha)
        # Every hypothesis ends in one way: of twice the width, at least half goes on.
        grid = grid.continued(step.log_probs, 2 * width, runtime.silent)
        ends = grid.action == END
        finished.add(grid.where(ends & (np.arange(ends.shape[1]) < width)), prefixes)
        grid = grid.where(~ends).columns(np.argsort(ends, 1, kind="stable")[:, :width])
        position += 1
        if position >= shortest:
            over = grid.written >= limit[grid.word][:, None]
            cut_off.add(grid.where(over), prefixes)
            grid = grid.where(~over)
        wanted = _promising(grid, finished, keep, mass, paths)
        grid = grid.where(wanted & (grid.scores >= floor[grid.word][:, None]))
        grid, rows, previous = grid.compacted()
        state, prefixes = step.state, prefixes[rows]
    lists = _best(history, finished, cut_off, keep)
    return [strings or [first] for strings, first in zip_longest(lists, quick)]


def _promising(grid: Grid, finished: Finalists, keep: int, mass: float, paths: bool) -> Bools:
    """Returns which hypotheses [W, B] may still lead to a string that is wanted."""
    to_beat = finished.to_beat(grid.word, keep, mass)[:, None]
    if not paths:
        return np.asarray(grid.scores > to_beat)
    # All of a word's paths may yet write one string, even one that others have written before.
    with np.errstate(divide="ignore"):
        joined = np.logaddexp(logsumexp(grid.scores, 1), finished.runner_up(grid.word, keep))
    return np.broadcast_to(joined[:, None] > to_beat, grid.scores.shape)


def _best(
    history: History, finished: Finalists, cut_off: Finalists, keep: int
) -> list[list[Hypothesis]]:
    """Reads off the best finished strings of each word or, if it has none, the best cut off."""
    done = finished.scores[:, :1] > -np.inf
    scores, prefix, last = (
        np.where(done, getattr(finished, column), getattr(cut_off, column))[:, :keep]
        for column in ("scores", "prefix", "last")
    )
    wanted = scores > -np.inf
    wanted[:, 1:] &= done
    strings = iter(history.hypotheses(prefix[wanted], last[wanted], scores[wanted]))
    return [list(islice(strings, count)) for count in wanted.sum(1).tolist()]
