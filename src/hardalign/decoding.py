"""Step-by-step decoding: greedy search, sampling and beam search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hardalign.batches import Aligned, Batch
from hardalign.data.vocabulary import BEGIN, END, LENGTH_LIMIT
from hardalign.systems.lattice import quiet
from hardalign.systems.ops.numpy import Bools, Floats, Ints, logsumexp

SLACK = 1e-4
"""Tolerance between log-probabilities of the same string computed in different batches."""


@dataclass(frozen=True)
class Hypothesis:
    """A decoded target string."""

    symbols: list[int]
    """Symbol ids, without the end."""
    log_prob: float
    """log p(y | x), end included."""
    finished: bool
    """False if cut off at the length limit; ``log_prob`` is then that of a prefix."""
    alpha: Floats
    """[symbols, then the end if finished; J] the alpha of each step."""
    aligned: Aligned | None = None


class History:
    """Back-pointers of a search: a tree of prefixes from which the strings are read at the end."""

    def __init__(self, step_action: int) -> None:
        self._step_action, self._size = step_action, 0
        self._visits: list[tuple[Ints, Ints, Floats]] = []

    def visit(self, parents: Ints, actions: Ints, alpha: Floats) -> Ints:
        """Add a prefix for each parent [N] (−1: none) and action [N]; return their ids [N].

        ``alpha`` [N, J] is the alpha of the step after the action.
        """
        self._visits.append((parents, actions, alpha))
        first, self._size = self._size, self._size + len(parents)
        return np.arange(first, self._size)

    def hypotheses(self, prefixes: Ints, last: Ints, scores: Floats) -> list[Hypothesis]:
        """Return the strings of ``prefixes`` [E], each extended by a ``last`` action [E]."""
        parents, actions, alphas = map(np.concatenate, zip(*self._visits, strict=True))
        ancestors = [prefixes]
        while (ancestors[-1] >= 0).any():
            node = ancestors[-1]
            ancestors.append(np.where(node >= 0, parents[node], -1))
        paths = np.stack(ancestors[::-1], 1)  # [E, T], −1 before the first
        actions = np.concatenate([actions[paths[:, 1:]], last[:, None]], 1)
        first = (paths < 0).sum(1).tolist()
        hypotheses = []
        for path, chosen, start, score in zip(paths, actions, first, scores.tolist(), strict=True):
            path, chosen = path[start:], chosen[start:]
            if self._step_action >= 0:
                writing = chosen != self._step_action
                path, chosen = path[writing], chosen[writing]
            symbols = chosen.tolist()
            if finished := symbols[-1:] == [END]:
                symbols.pop()
            hypotheses.append(Hypothesis(symbols, score, finished, alphas[path]))
        return hypotheses


def greedy(batch: Batch, which: Ints, tolerance: float = 0.0) -> list[Hypothesis]:
    """Decode the words ``which`` [N] of a batch greedily.

    ``tolerance`` is the probability mass that each step may prune.
    """
    return _decode(batch, which, lambda log_probs, *_: np.asarray(log_probs.argmax(-1)), tolerance)


def sample(batch: Batch, which: Ints, noise: Floats) -> list[Hypothesis]:
    """Sample one string for each word of ``which`` [N].

    ``noise`` [N, steps] is uniform in [0, 1), one number per action, STEP included.
    """

    def choose(log_probs: Floats, walkers: Ints, step: int) -> Ints:
        mass = np.exp(log_probs.astype(np.float64)).cumsum(-1)
        # The last sum is exactly 1, above all noise; impossible actions are never hit.
        mass /= mass[:, -1:]
        return np.asarray((mass > noise[walkers, step, None]).argmax(-1))

    return _decode(batch, which, choose, 0.0)


def uniform_noise(seeds: Sequence[Sequence[int]], lengths: Sequence[int]) -> Floats:
    """Return the noise of ``sample``; each row depends only on its own seed and source length."""
    # One number for each symbol up to the limit, and for a STEP over each source symbol.
    steps = [(LENGTH_LIMIT + 1) * length for length in lengths]
    noise = np.zeros((len(seeds), max(steps)))
    for row, seed, count in zip(noise, seeds, steps, strict=True):
        row[:count] = np.random.default_rng(seed).random(count)
    return noise


def _decode(
    batch: Batch, which: Ints, choose: Callable[[Floats, Ints, int], Ints], tolerance: float
) -> list[Hypothesis]:
    """Follow one path per row; finished rows leave the batch.

    ``choose`` maps log-probabilities [N, V], their rows [N] and the step number to columns [N].
    """
    model, limit = batch.model, batch.limits[which]
    history = History(model.step_action)
    scores = np.zeros(len(which))
    written = np.zeros(len(which), np.intp)
    prefixes = np.full(len(which), -1)
    last = np.full(len(which), BEGIN)
    state, rows = model.start(batch.memory), which
    active, position = np.arange(len(which)), 0
    while len(active):
        step = model.step(state, rows, last[active], tolerance)
        state = step.state
        prefixes[active] = history.visit(prefixes[active], last[active], step.alpha)
        choice = choose(step.log_probs, active, position)
        scores[active] += step.log_probs[np.arange(len(active)), choice]
        last[active] = choice + END
        written[active] += choice + END != model.step_action
        rows = ((choice != 0) & (written[active] < limit[active])).nonzero()[0]
        active = active[rows]
        position += 1
    return history.hypotheses(prefixes, last, scores)


CANDIDATE = np.dtype(
    [
        ("score", np.float64),  # log-probability; −inf in empty cells
        ("prefix", np.int64),  # id in the history
        ("action", np.int64),  # that extends the prefix
        ("written", np.int64),  # number of symbols, including the action's
        ("spelled", np.int64),  # hash of the symbols, the same for all paths of a string
    ]
)
"""A hypothesis of a beam search: a prefix and one more action."""
EMPTY = np.array((-np.inf, -1, BEGIN, 0, 0), CANDIDATE)
Candidates = NDArray[np.void]
"""[W, K] candidates of each word, best first."""


def beam_search(
    batch: Batch,
    which: Ints,
    width: int,
    *,
    keep: int = 1,
    mass: float = 1.0,
    tolerance: float = 0.0,
) -> list[list[Hypothesis]]:
    """Return the ``keep`` most probable strings found by a beam for the words ``which`` [W].

    At every step, the ``width`` best unfinished continuations of a word survive; finished ones are
    kept if they are among the ``width`` best of all. As log-probabilities only fall, a word is done
    once no hypothesis can still be among the strings wanted: the ``keep`` best, or fewer that cover
    the ``mass``. Ties go to the better hypothesis, then to the lower symbol, so width 1 is greedy
    search. If no string was finished, the best truncated one is the only result.

    With a STEP action, hypotheses are paths; finished paths of the same string are summed, which
    gives a lower bound. Without one, if only one string is wanted, greedy search runs first and
    hypotheses below its score are pruned, which halves the work.
    """
    model, limit = batch.model, batch.limits[which]
    many_paths = model.step_action >= 0
    greedy_strings: list[Hypothesis] = []
    floor = np.full(len(which), -np.inf)
    if not many_paths and width > keep == 1:
        greedy_strings = greedy(batch, which, tolerance)
        floor[:] = [one.log_prob - SLACK if one.finished else -np.inf for one in greedy_strings]
    history = History(model.step_action)
    ended, cut_off = (np.full((len(which), width), EMPTY) for _ in range(2))
    word = np.arange(len(which))  # [W] those not yet done
    beam = np.full((len(which), 1), EMPTY)
    beam["score"] = 0.0
    state, rows = model.start(batch.memory), which
    while len(word):
        alive = beam["score"] > -np.inf  # [W, B]
        extended = beam[alive]
        step = model.step(state, rows, extended["action"], tolerance)
        prefixes = history.visit(extended["prefix"], extended["action"], step.alpha)
        # Each hypothesis has one end, so at least ``width`` of these continuations are unfinished.
        beam = _continued(beam, alive, prefixes, step.log_probs, 2 * width, model.step_action)
        ends = beam["action"] == END
        _collect(ended, word, _only(beam, ends & (np.arange(ends.shape[1]) < width)), many_paths)
        order = np.argsort(ends, 1, kind="stable")[:, :width]
        beam = np.take_along_axis(_only(beam, ~ends), order, 1)
        over = beam["written"] >= limit[word][:, None]
        _collect(cut_off, word, _only(beam, over), many_paths)
        hopeful = _can_still_win(beam["score"], ended[word]["score"], keep, mass, many_paths)
        beam = _only(beam, ~over & hopeful & (beam["score"] >= floor[word][:, None]))
        alive = beam["score"] > -np.inf
        some = alive.any(1)
        state, rows = step.state, beam["prefix"][alive] - prefixes[0]
        beam, word = beam[some], word[some]
    done = ended["score"][:, :1] > -np.inf
    best = np.where(done, ended, cut_off)[:, :keep]
    wanted = best["score"] > -np.inf
    wanted[:, 1:] &= done  # at most one truncated string
    found = best[wanted]
    strings = iter(history.hypotheses(found["prefix"], found["action"], found["score"]))
    lists = [list(islice(strings, count)) for count in wanted.sum(1).tolist()]
    return [own or [greedy_strings[place]] for place, own in enumerate(lists)]


def _only(candidates: Candidates, mask: Bools) -> Candidates:
    """Return a copy of candidates [W, K], emptied where a mask is false."""
    candidates = candidates.copy()
    candidates["score"][~mask] = -np.inf
    return candidates


def _continued(
    beam: Candidates, alive: Bools, prefixes: Ints, log_probs: Floats, count: int, step_action: int
) -> Candidates:
    """Return the best ``count`` continuations of each word's candidates [W, B].

    For the N cells that are ``alive``, ``prefixes`` [N] are their ids in the history and
    ``log_probs`` [N, V] the distributions of the next action.
    """
    actions = log_probs.shape[1]
    row = np.maximum(alive.cumsum() - 1, 0).reshape(alive.shape)  # [W, B] of log_probs
    scores = (beam["score"][:, :, None] + log_probs[row]).reshape(len(beam), -1)
    index = best_columns(scores, count)
    cell, action = index // actions, index % actions + END
    found = np.take_along_axis(beam, cell, 1)
    writes = action != step_action
    with np.errstate(over="ignore"):
        mixed = (found["spelled"] + action) * _MIX
    found["spelled"] = np.where(writes, mixed ^ (mixed >> 31), found["spelled"])
    found["score"] = np.take_along_axis(scores, index, 1)
    found["prefix"] = prefixes[np.take_along_axis(row, cell, 1)]
    found["action"] = action
    found["written"] += writes
    return found


_MIX = np.int64(0x9E3779B97F4A7C15 - (1 << 64))
"""The odd number nearest 2⁶⁴ / golden ratio, as a signed integer, for Fibonacci hashing."""


def best_columns(scores: Floats, count: int) -> Ints:
    """Return the columns [W, count] of the largest scores, best first, ties by column."""
    if scores.shape[1] <= 4 * count:
        return np.argsort(-scores, 1, kind="stable")[:, :count]
    top = np.argpartition(-scores, count - 1, 1)[:, :count]
    top.sort(1)
    values = np.take_along_axis(scores, top, 1)
    columns = np.take_along_axis(top, np.argsort(-values, 1, kind="stable"), 1)
    least = values.min(1)
    tied = ((scores >= least[:, None]).sum(1) > count) & (least > -np.inf)
    if tied.any():  # a partition picks arbitrarily among equal scores
        columns[tied] = np.argsort(-scores[tied], 1, kind="stable")[:, :count]
    return columns


@quiet
def _collect(found: Candidates, word: Ints, new: Candidates, merge: bool) -> None:
    """Add complete candidates [W, K] of some words [W] to the best found so far, in place.

    With ``merge``, the paths of a string are summed into the first of its cells.
    """
    some = (new["score"] > -np.inf).any(1)
    if not some.any():
        return
    word = word[some]
    both = np.concatenate([found[word], new[some]], 1)
    if merge:
        scores = both["score"]
        same = both["spelled"][:, :, None] == both["spelled"][:, None]  # [W, M, M]
        sums = logsumexp(np.where(same, scores[:, None], -np.inf), 2)
        earlier = np.tril(same, -1) & (scores > -np.inf)[:, None]
        both["score"] = np.where(earlier.any(2) | np.isneginf(scores), -np.inf, sums)
    order = np.argsort(-both["score"], 1, kind="stable")[:, : found.shape[1]]
    found[word] = np.take_along_axis(both, order, 1)


def _can_still_win(
    scores: Floats, ended: Floats, keep: int, mass: float, many_paths: bool
) -> Bools:
    """Return which hypotheses [W, B] may still lead to one of the strings wanted.

    The threshold is the worst of the ``keep`` best of ``ended`` [W, width], or the last one
    needed to cover the ``mass``.
    """
    best = ended[:, :keep]
    last = (np.exp(best).cumsum(1) < mass).sum(1, keepdims=True)
    to_beat = np.take_along_axis(best, np.minimum(last, keep - 1), 1)  # [W, 1]
    if not many_paths:
        return np.asarray(scores > to_beat)
    # All paths of a word may still end in the same string, even one that has already ended.
    runner_up = ended[:, keep] if keep < ended.shape[1] else np.full(len(ended), -np.inf)
    with np.errstate(divide="ignore"):
        joined = np.logaddexp(logsumexp(scores, 1), runner_up)
    return np.broadcast_to(joined[:, None] > to_beat, scores.shape)
