"""Decoding: greedy search, beam search, probability mass and sampling."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardalign.batches import Aligned, Batch, in_batches
from hardalign.data.vocabulary import BEGIN, END, LENGTH_LIMIT, Encoded
from hardalign.errors import HardalignError, require_int
from hardalign.systems.lattice import quiet
from hardalign.systems.model import Answering
from hardalign.systems.ops.numpy import Bools, Floats, Ints, logsumexp

DEFAULT_BEAM = 5
"""Minimum default beam width for n-best lists."""
MASS_BEAM, MASS_BEAM_LIMIT = 8, 256
"""First and last beam width of a search for probability mass."""
MAX_WIDTH = 10_000
"""Maximum beam width and number of strings per word, which are all in memory at once."""
SLACK = 1e-4
"""Tolerance between log-probabilities of the same string computed in different batches."""
TOLERANCE = 1e-6
"""Probability mass that a step may prune, about the rounding error of float32."""
EXACT_TOLERANCE = 1e-9
"""The same for greedy search with exact scores, which always picks a probable symbol. A beam also
follows improbable ones, so its strings are rescored instead."""
FEW_SYMBOLS = 64
"""Batches with at most this many source symbols are not pruned in a beam: rescoring costs more."""
SAMPLES = 512
"""Strings sampled at a time, to bound memory."""

Scored = TypeVar("Scored")
"""A ``Hypothesis`` or a ``Prediction``."""


@dataclass(frozen=True)
class Search:
    """Decoding options. The default is greedy search: the best symbol at every step.

    Raises:
        HardalignError: If an option is out of range or conflicts with another.
    """

    beam: int | None = None
    """Beam width; 1 is greedy search. None: 1, or at least 5 with ``nbest``."""
    nbest: int | None = None
    """Number of distinct strings to return, most probable first. None: 1."""
    mass: float | None = None
    """Return the fewest strings that together have this probability. The beam is widened until
    they are found, at most to ``MASS_BEAM_LIMIT``."""
    samples: int | None = None
    """Number of strings to sample from the model, with repetitions."""
    seed: int = 0
    """Seed of the samples, which depend on it and on the word's position in its stream."""

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
        """Effective beam width."""
        if self.beam is not None:
            return self.beam
        return 1 if self.nbest is None else max(self.nbest, DEFAULT_BEAM)

    @property
    def most(self) -> int:
        """Maximum number of strings per word."""
        return self.samples or (MASS_BEAM_LIMIT if self.mass else self.nbest or 1)

    def wanted(self, strings: list[Scored]) -> list[Scored]:
        """Return as many of the best strings as ``nbest`` or ``mass`` asks for."""
        if self.mass is None:
            return strings[: self.nbest or 1]
        return strings[: bisect_left(cumulative_probability(strings), self.mass) + 1]


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


def find_strings(
    batch: Batch,
    search: Search,
    places: Sequence[int] | None = None,
    *,
    exact: bool = True,
    alignments: bool = False,
) -> list[list[Hypothesis]]:
    """Return the strings of each word of a batch: best first, or samples in the order drawn.

    Samples depend on the positions (``places``) of the words in their stream, by default 0, 1, 2…
    Unless scores must be ``exact``, they may be those of a pruned search.
    """
    every = np.arange(len(batch.sources))
    if search.mass is not None:
        lists = _cover_mass(batch, search, search.mass)
    elif search.samples is not None:
        seeds = [(search.seed, place) for place in (every.tolist() if places is None else places)]
        lists = _sample_strings(batch, search.samples, seeds)
    elif search.width == 1:
        tolerance = EXACT_TOLERANCE if exact else TOLERANCE
        lists = [[best] for best in greedy(batch, every, tolerance)]
    else:
        lists = _best_strings(batch, every, search.width, search.nbest or 1, exact=exact)
    if not alignments:
        return lists
    owners = [word for word, strings in enumerate(lists) for _ in strings]
    aligned = batch.align(owners, [[*one.symbols, END] for strings in lists for one in strings])
    return [[replace(one, aligned=next(aligned)) for one in own] for own in lists]


def predictions(model: Answering, sources: Iterable[Encoded]) -> list[Hypothesis]:
    """Return the greedy prediction of each word."""

    def work(words: Sequence[Encoded]) -> list[Hypothesis]:
        return greedy(Batch(model, words), np.arange(len(words)), TOLERANCE)

    return list(in_batches(model, work, sources, lambda word: len(word.source)))


def cumulative_probability(strings: Iterable[Any]) -> list[float]:
    """Return the running sum of the probabilities of hypotheses or predictions."""
    # The probability of a string that was cut off is that of a prefix.
    return list(accumulate(math.exp(s.log_prob) if s.finished else 0.0 for s in strings))


class History:
    """Back-pointers of a search: a tree of prefixes, from which strings are read off at the end."""

    def __init__(self, step_action: int) -> None:
        self._step_action, self._size = step_action, 0
        self._visits: list[tuple[Ints, Ints, Floats]] = []

    def visit(self, parents: Ints, actions: Ints, alpha: Floats) -> Ints:
        """Add a prefix for each parent [N] (−1: none) and action [N]; return their ids [N].

        ``alpha`` [N, J] is that of the step which follows the action.
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


def _sample_strings(
    batch: Batch, count: int, seeds: Sequence[tuple[int, int]]
) -> list[list[Hypothesis]]:
    """Sample ``count`` strings for each word."""
    rows = [(*seed, k) for seed in seeds for k in range(count)]
    which = np.repeat(np.arange(len(seeds)), count)
    strings: list[Hypothesis] = []
    for k in range(0, len(rows), SAMPLES):
        some = which[k : k + SAMPLES]
        noise = uniform_noise(rows[k : k + SAMPLES], batch.words.lengths[some].tolist())
        strings += sample(batch, some, noise)
    return [strings[k : k + count] for k in range(0, len(strings), count)]


def uniform_noise(seeds: Sequence[Sequence[int]], lengths: Sequence[int]) -> Floats:
    """Return the noise of ``sample``; each row depends on its own seed and source length alone."""
    # A number for each symbol up to the limit, and for a STEP over each source symbol.
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
        rows = np.flatnonzero((choice != 0) & (written[active] < limit[active]))
        active = active[rows]
        position += 1
    return history.hypotheses(prefixes, last, scores)


CANDIDATE = np.dtype(
    [
        ("score", np.float64),  # log-probability; −inf in empty cells
        ("prefix", np.int64),  # id in the history
        ("action", np.int64),  # that follows the prefix
        ("written", np.int64),  # number of symbols, the action's included
        ("spelled", np.int64),  # hash of the symbols, shared by all paths that write a string
    ]
)
"""A hypothesis of a beam search: a prefix and one more action."""
EMPTY = np.array((-np.inf, -1, BEGIN, 0, 0), CANDIDATE)
Candidates = NDArray[np.void]
"""[W, K] candidates of each word, best first."""


def _best_strings(
    batch: Batch, which: Ints, width: int, keep: int, *, mass: float = 1.0, exact: bool = True
) -> list[list[Hypothesis]]:
    """Search with a beam, and rescore the strings if the search was pruned."""
    pruned = batch.words.symbols.size > FEW_SYMBOLS
    tolerance = TOLERANCE if pruned else 0.0
    lists = beam_search(batch, which, width, keep=keep, mass=mass, tolerance=tolerance)
    if not exact or not pruned or batch.model.step_action >= 0:
        return lists  # where a string has many paths, the sum over those found is the score
    finished = [
        (word, [*string.symbols, END])
        for word, strings in zip(which.tolist(), lists, strict=True)
        for string in strings
        if string.finished
    ]
    scores = batch.scores([word for word, _ in finished], [target for _, target in finished])
    rescored = (
        [replace(s, log_prob=math.fsum(next(scores))) if s.finished else s for s in strings]
        for strings in lists
    )
    return [sorted(strings, key=lambda string: -string.log_prob) for strings in rescored]


def _cover_mass(batch: Batch, search: Search, mass: float) -> list[list[Hypothesis]]:
    """Return the shortest lists that cover some mass, doubling the beam where they do not."""
    covering: list[list[Hypothesis]] = [[] for _ in batch.sources]
    pending, width = list(range(len(batch.sources))), MASS_BEAM
    while pending:
        lists = _best_strings(batch, np.array(pending), width, width, mass=mass)
        for word, strings in zip(pending, lists, strict=True):
            covering[word] = search.wanted(strings)
        if width >= MASS_BEAM_LIMIT:
            break
        pending = [w for w in pending if cumulative_probability(covering[w])[-1] < mass]
        width *= 2
    return covering


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

    At every step the ``width`` best continuations of a word go on; ends among the ``width`` best
    are kept. As log-probabilities only fall, a word is done once no hypothesis can still be among
    the strings wanted: ``keep``, or fewer that cover the ``mass``. Ties go to the better
    hypothesis, then to the lower symbol, so that width 1 is greedy search. If no string was
    finished, the best one that was cut off is the only answer.

    In models with a STEP action, hypotheses are paths, and paths of the same string are summed as
    they end, which gives a lower bound. Otherwise, where one string is wanted, greedy search goes
    first, and hypotheses below its score are dropped, which halves the work.
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
    word = np.arange(len(which))  # [W] those not done
    beam = np.full((len(which), 1), EMPTY)
    beam["score"] = 0.0
    state, rows = model.start(batch.memory), which
    while len(word):
        alive = beam["score"] > -np.inf  # [W, B]
        extended = beam[alive]
        step = model.step(state, rows, extended["action"], tolerance)
        prefixes = history.visit(extended["prefix"], extended["action"], step.alpha)
        # Each hypothesis has one end, so at least half of twice the width go on.
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
    wanted[:, 1:] &= done  # one string that was cut off is enough
    found = best[wanted]
    strings = iter(history.hypotheses(found["prefix"], found["action"], found["score"]))
    lists = [list(islice(strings, count)) for count in wanted.sum(1).tolist()]
    return [own or [greedy_strings[place]] for place, own in enumerate(lists)]


def _only(candidates: Candidates, mask: Bools) -> Candidates:
    """Empty the cells [W, K] where a mask is false."""
    candidates = candidates.copy()
    candidates["score"][~mask] = -np.inf
    return candidates


def _continued(
    beam: Candidates, alive: Bools, prefixes: Ints, log_probs: Floats, count: int, step_action: int
) -> Candidates:
    """Return the best ``count`` continuations of each word's candidates [W, B].

    Of the N cells that are ``alive``, ``prefixes`` [N] are the ids in the history and ``log_probs``
    [N, V] the distributions of the next action.
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
    """Return the columns [W, count] of the largest scores, best first, ties in order."""
    if scores.shape[1] <= 4 * count:
        return np.argsort(-scores, 1, kind="stable")[:, :count]
    top = np.argpartition(-scores, count - 1, 1)[:, :count]
    top.sort(1)
    values = np.take_along_axis(scores, top, 1)
    columns = np.take_along_axis(top, np.argsort(-values, 1, kind="stable"), 1)
    least = values.min(1)
    tied = ((scores >= least[:, None]).sum(1) > count) & (least > -np.inf)
    if tied.any():  # a partition picks arbitrary ones of equal scores
        columns[tied] = np.argsort(-scores[tied], 1, kind="stable")[:, :count]
    return columns


@quiet
def _collect(found: Candidates, word: Ints, new: Candidates, merge: bool) -> None:
    """Add complete candidates [W, K] of some words [W] to the best found so far, in place.

    With ``merge``, the paths of a string are summed in the first of its cells.
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

    The threshold is the worst of the ``keep`` best of ``ended`` [W, width], or the last one that
    the ``mass`` needs.
    """
    best = ended[:, :keep]
    last = (np.exp(best).cumsum(1) < mass).sum(1, keepdims=True)
    to_beat = np.take_along_axis(best, np.minimum(last, keep - 1), 1)  # [W, 1]
    if not many_paths:
        return np.asarray(scores > to_beat)
    # All paths of a word may yet end in one string, even one that has ended before.
    runner_up = ended[:, keep] if keep < ended.shape[1] else np.full(len(ended), -np.inf)
    with np.errstate(divide="ignore"):
        joined = np.logaddexp(logsumexp(scores, 1), runner_up)
    return np.broadcast_to(joined[:, None] > to_beat, scores.shape)
