"""Search for target strings in a batch of words: greedy, beam and samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardalign.data.vocabulary import BEGIN, END
from hardalign.errors import HardalignError
from hardalign.systems.batch import Words
from hardalign.systems.lattice import quiet
from hardalign.systems.model import LENGTH_LIMIT, Answering
from hardalign.systems.ops.numpy import Bools, Floats, Ints, logsumexp

DEFAULT_BEAM = 5
"""Beam width where several strings are asked for and no width is given."""
MASS_BEAM, MASS_BEAM_LIMIT = 8, 256
"""First and last beam width of a search for probability mass."""
MAX_WIDTH = 10_000
"""The widest beam, and the most strings for one word: all of them are in memory at a time."""
SLACK = 1e-4
"""Tolerance between log-probabilities of the same string computed in different batches."""

Model = Answering


@dataclass(frozen=True)
class Search:
    """What to search for. The default is greedy: the best symbol at every step.

    Raises:
        HardalignError: If the settings are impossible or contradict each other.
    """

    beam: int | None = None
    """Hypotheses followed side by side; 1 is greedy. None: 1, or more where ``nbest`` needs it."""
    nbest: int | None = None
    """How many different strings, the most probable ones found. None: 1."""
    mass: float | None = None
    """As many of the most probable strings as together have this probability; the beam is widened
    until they do, at most to ``MASS_BEAM_LIMIT``."""
    samples: int | None = None
    """How many strings to draw from the model's distribution, equal ones included."""
    seed: int = 0
    """Of the samples: the same seed draws the same strings for a word at the same place."""

    def __post_init__(self) -> None:
        for name in ("beam", "nbest", "samples"):
            value = getattr(self, name)
            if value is not None:
                require_int(name, value, 1, MAX_WIDTH)
        require_int("the seed", self.seed, 0)
        if self.mass is not None and not (isinstance(self.mass, float) and 0 < self.mass < 1):
            raise HardalignError(f"mass must be between 0 and 1, not {self.mass!r}")
        if self.beam is not None and self.nbest is not None and self.nbest > self.beam:
            raise HardalignError(
                f"a beam of {self.beam} finds no more than {self.beam} strings, not {self.nbest}; "
                "widen the beam"
            )
        width = self.beam is not None or self.nbest is not None
        if (width, self.mass is not None, self.samples is not None).count(True) > 1:
            raise HardalignError(
                "choose one of: a beam (with nbest), mass (which finds its own beam), samples"
            )

    @property
    def width(self) -> int:
        """The beam width to search with."""
        if self.beam is not None:
            return self.beam
        return 1 if self.nbest is None else max(self.nbest, DEFAULT_BEAM)

    @property
    def most(self) -> int:
        """The most answers that a word may have."""
        return self.samples or (MASS_BEAM_LIMIT if self.mass else self.nbest or 1)


def require_int(name: str, value: object, least: int, most: int | None = None) -> None:
    """Require an int (not a bool) between least and most.

    Raises:
        HardalignError: If it is none.
    """
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integer or value < least or (most is not None and value > most):  # type: ignore[operator]
        bounds = f"from {least} to {most}" if most is not None else f"at least {least}"
        raise HardalignError(f"{name} must be a whole number {bounds}, not {value!r}")


@dataclass(frozen=True)
class Aligned:
    """The alignment of a pair, as numbers."""

    weights: Floats
    """[target symbols and end; begin, tags, source symbols, end]"""
    path: list[int]
    """The most probable alignment: a column of ``weights`` for each row."""


@dataclass(frozen=True)
class Hypothesis:
    """A target string that a search found."""

    symbols: list[int]
    """Its symbols as numbers, without the end."""
    log_prob: float
    """log p(y | x), end included."""
    finished: bool
    """False where the length limit cut it off before the model produced an end; its probability
    is then that of all strings that begin with it."""
    alpha: Floats
    """[len(symbols) + 1 or less, J] where the model looked at each step, the end's included."""
    aligned: Aligned | None = None
    """Its alignment, where that was asked for."""


class Read(NamedTuple):
    """Source words that a model has read."""

    model: Model
    words: Words
    memory: Any

    @property
    def limits(self) -> Ints:
        """[B] how many symbols may be written for each word."""
        return np.asarray(LENGTH_LIMIT * self.words.lengths)


class History:
    """Every prefix that a search has continued, as a tree: each knows its parent.

    Nothing is copied while hypotheses multiply and die; strings are read off at the end.
    """

    def __init__(self, silent: int) -> None:
        self._silent = silent
        self._parents: list[Ints] = []
        self._actions: list[Ints] = []
        self._alphas: list[Floats] = []
        self._size = 0

    def visit(self, parents: Ints, actions: Ints, alpha: Floats) -> Ints:
        """Adds prefixes that are about to be continued and returns their numbers, consecutive.

        Args:
            parents: [N] the prefixes that these continue, −1 for none.
            actions: [N] by what: the numbers of symbols, or the model's silent action.
            alpha: [N, J] where the model looks next.
        """
        self._parents.append(parents)
        self._actions.append(actions)
        self._alphas.append(alpha)
        first, self._size = self._size, self._size + len(parents)
        return np.arange(first, self._size)

    def hypotheses(self, prefixes: Ints, last: Ints, scores: Floats) -> list[Hypothesis]:
        """Reads off strings: ``prefixes`` [E], each continued by one ``last`` action [E]."""
        parents, actions = np.concatenate(self._parents), np.concatenate(self._actions)
        alphas = np.concatenate(self._alphas)
        ancestors = [prefixes]
        while (ancestors[-1] >= 0).any():
            node = ancestors[-1]
            ancestors.append(np.where(node >= 0, parents[node], -1))
        paths = np.stack(ancestors[::-1], 1)  # [E, T], −1 before the first
        actions = np.concatenate([actions[paths[:, 1:]], last[:, None]], 1)  # after each prefix
        first = (paths < 0).sum(1).tolist()
        hypotheses = []
        for path, chosen, start, score in zip(paths, actions, first, scores.tolist(), strict=True):
            path, chosen = path[start:], chosen[start:]
            if self._silent >= 0:
                writing = chosen != self._silent
                path, chosen = path[writing], chosen[writing]
            symbols = chosen.tolist()
            finished = symbols[-1:] == [END]
            symbols = symbols[:-1] if finished else symbols
            hypotheses.append(Hypothesis(symbols, score, finished, alphas[path]))
        return hypotheses


def greedy(read: Read, which: Ints, tolerance: float = 0.0) -> list[Hypothesis]:
    """Takes the most probable next action at every step, for some words [N] of a read.

    Args:
        read: The words.
        which: [N] those to answer.
        tolerance: How much probability may be left out of each step.
    """
    return _walk(read, which, lambda log_probs, *_: np.asarray(log_probs.argmax(-1)), tolerance)


def sample(read: Read, which: Ints, noise: Floats) -> list[Hypothesis]:
    """Draws one string from the model's distribution for each of some words.

    Args:
        read: The words.
        which: [N] those to answer; a word may be answered several times.
        noise: [N, steps] independent and uniform in [0, 1), one for each action, silent or not.
    """

    def choose(log_probs: Floats, walkers: Ints, step: int) -> Ints:
        mass = np.exp(log_probs.astype(np.float64)).cumsum(-1)
        # Ends at exactly 1, above all noise; what has no probability adds no mass to be hit.
        mass /= mass[:, -1:]
        return np.asarray((mass > noise[walkers, step, None]).argmax(-1))

    return _walk(read, which, choose, 0.0)


def uniform_noise(seeds: Sequence[Sequence[int]], lengths: Sequence[int]) -> Floats:
    """Returns the noise [N, steps] that ``sample`` needs: each row depends on its own seed alone.

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
    read: Read, which: Ints, choose: Callable[[Floats, Ints, int], Ints], tolerance: float
) -> list[Hypothesis]:
    """Follows one path per row to its end; rows that are finished leave the read.

    ``choose`` goes from log-probabilities [N, V], the rows [N] they belong to and the number of the
    step to the columns [N] that are chosen.
    """
    model, limit = read.model, read.limits[which]
    history = History(model.silent)
    scores = np.zeros(len(which))
    written = np.zeros(len(which), np.intp)
    prefixes = np.full(len(which), -1)
    last = np.full(len(which), BEGIN)
    state, rows = model.start(read.memory), which
    active, position = np.arange(len(which)), 0
    while len(active):
        step = model.step(state, rows, last[active], tolerance)
        state = step.state
        prefixes[active] = history.visit(prefixes[active], last[active], step.alpha)
        choice = choose(step.log_probs, active, position)
        scores[active] += step.log_probs[np.arange(len(active)), choice]
        last[active] = choice + END
        written[active] += choice + END != model.silent
        rows = np.flatnonzero((choice != 0) & (written[active] < limit[active]))
        active = active[rows]
        position += 1
    return history.hypotheses(prefixes, last, scores)


CANDIDATE = np.dtype(
    [
        ("score", np.float64),  # log-probability; −inf in cells without a candidate
        ("prefix", np.int64),  # its number in the history, before the last action
        ("action", np.int64),  # the last action
        ("written", np.int64),  # how many symbols, the last included
        ("spelled", np.int64),  # a hash of the symbols: paths that write the same string share it
    ]
)
"""A hypothesis of a beam search: a prefix and one action more."""
EMPTY = np.array((-np.inf, -1, BEGIN, 0, 0), CANDIDATE)
Candidates = NDArray[np.void]
"""[W, K] candidates of each word, best first."""


def beam_search(
    read: Read,
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
    where a single string is wanted, greedy search goes first, and nothing less probable than its
    answer is followed, which halves the work.

    Args:
        read: The words.
        which: [W] those to answer.
        width: Of the beam.
        keep: How many different strings to find for each word, at most ``width``.
        mass: Fewer will do, if together they have this probability.
        tolerance: How much probability may be left out of each step.

    Returns:
        For each word up to ``keep`` strings, best first. Where none was finished, the best that the
        length limit cut off is the only answer.
    """
    model, limit = read.model, read.limits[which]
    paths = model.silent >= 0
    quick: list[Hypothesis] = []
    floor = np.full(len(which), -np.inf)  # what is less probable is not followed
    if not paths and width > keep == 1:
        quick = greedy(read, which, tolerance)
        floor[:] = [best.log_prob - SLACK if best.finished else -np.inf for best in quick]
    history = History(model.silent)
    ended, cut_off = (np.full((len(which), width), EMPTY) for _ in range(2))
    word = np.arange(len(which))  # [W] those still searched for
    beam = np.full((len(which), 1), EMPTY)
    beam["score"] = 0.0
    state, rows = model.start(read.memory), which
    while len(word):
        alive = beam["score"] > -np.inf  # [W, B]
        going_on = beam[alive]
        step = model.step(state, rows, going_on["action"], tolerance)
        prefixes = history.visit(going_on["prefix"], going_on["action"], step.alpha)
        # Every hypothesis ends in one way: of twice the width, at least half goes on.
        beam = _continued(beam, alive, prefixes, step.log_probs, 2 * width, model.silent)
        ends = beam["action"] == END
        _collect(ended, word, _only(beam, ends & (np.arange(ends.shape[1]) < width)), paths)
        order = np.argsort(ends, 1, kind="stable")[:, :width]
        beam = np.take_along_axis(_only(beam, ~ends), order, 1)
        over = beam["written"] >= limit[word][:, None]
        _collect(cut_off, word, _only(beam, over), paths)
        wanted = _promising(beam["score"], ended[word]["score"], keep, mass, paths)
        beam = _only(beam, ~over & wanted & (beam["score"] >= floor[word][:, None]))
        alive = beam["score"] > -np.inf
        some = alive.any(1)
        state, rows = step.state, beam["prefix"][alive] - prefixes[0]
        beam, word = beam[some], word[some]
    done = ended["score"][:, :1] > -np.inf
    best = np.where(done, ended, cut_off)[:, :keep]
    wanted = best["score"] > -np.inf
    wanted[:, 1:] &= done  # of what was cut off, one string will do
    found = best[wanted]
    strings = iter(history.hypotheses(found["prefix"], found["action"], found["score"]))
    lists = [list(islice(strings, count)) for count in wanted.sum(1).tolist()]
    return [own or [quick[place]] for place, own in enumerate(lists)]


def _only(candidates: Candidates, mask: Bools) -> Candidates:
    """Returns the candidates for which a mask [W, K] is true; other cells become empty."""
    candidates = candidates.copy()
    candidates["score"][~mask] = -np.inf
    return candidates


def _continued(
    beam: Candidates, alive: Bools, prefixes: Ints, log_probs: Floats, count: int, silent: int
) -> Candidates:
    """Returns the best ``count`` continuations of each word's candidates [W, B].

    Args:
        beam: What is continued.
        alive: [W, B] the cells with a candidate, N in all.
        prefixes: [N] their numbers in the history.
        log_probs: [N, V] of their next actions.
        count: At most.
        silent: The number of the action that writes nothing.
    """
    actions = log_probs.shape[1]
    row = np.maximum(alive.cumsum() - 1, 0).reshape(alive.shape)  # [W, B] any where none is alive
    scores = (beam["score"][:, :, None] + log_probs[row]).reshape(len(beam), -1)
    index = best_columns(scores, count)
    cell, action = index // actions, index % actions + END
    found = np.take_along_axis(beam, cell, 1)
    writes = action != silent
    with np.errstate(over="ignore"):
        mixed = (found["spelled"] + action) * _MIX
    found["spelled"] = np.where(writes, mixed ^ (mixed >> 31), found["spelled"])
    found["score"] = np.take_along_axis(scores, index, 1)
    found["prefix"] = prefixes[np.take_along_axis(row, cell, 1)]
    found["action"] = action
    found["written"] += writes
    return found


_MIX = np.int64(0x9E3779B97F4A7C15 - (1 << 64))
"""The odd number nearest 2⁶⁴ / golden ratio, as a signed integer: it spreads bits well."""


def best_columns(scores: Floats, count: int) -> Ints:
    """Returns the columns [W, count] of the largest scores, best first; of equals the first."""
    if scores.shape[1] <= 4 * count:
        return np.argsort(-scores, 1, kind="stable")[:, :count]
    top = np.argpartition(-scores, count - 1, 1)[:, :count]
    top.sort(1)
    values = np.take_along_axis(scores, top, 1)
    columns = np.take_along_axis(top, np.argsort(-values, 1, kind="stable"), 1)
    least = values.min(1)
    tied = ((scores >= least[:, None]).sum(1) > count) & (least > -np.inf)
    if tied.any():  # a partition takes any of the equals
        columns[tied] = np.argsort(-scores[tied], 1, kind="stable")[:, :count]
    return columns


@quiet
def _collect(found: Candidates, word: Ints, new: Candidates, merge: bool) -> None:
    """Adds complete candidates [W, K] of some words [W] to the best found so far, in place.

    With ``merge``, paths may write the same string: its first cell gets the sum of all of them.
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


def _promising(scores: Floats, ended: Floats, keep: int, mass: float, paths: bool) -> Bools:
    """Returns which hypotheses [W, B] may still lead to a string that is wanted.

    To beat is the last of the ``keep`` best of ``ended`` [W, width], or the last that the ``mass``
    needs.
    """
    best = ended[:, :keep]
    last = (np.exp(best).cumsum(1) < mass).sum(1, keepdims=True)
    to_beat = np.take_along_axis(best, np.minimum(last, keep - 1), 1)  # [W, 1]
    if not paths:
        return np.asarray(scores > to_beat)
    # All of a word's paths may yet write one string, even one that others have written before.
    runner_up = ended[:, keep] if keep < ended.shape[1] else np.full(len(ended), -np.inf)
    with np.errstate(divide="ignore"):
        joined = np.logaddexp(logsumexp(scores, 1), runner_up)
    return np.broadcast_to(joined[:, None] > to_beat, scores.shape)
