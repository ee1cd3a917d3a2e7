"""Search for target strings in a batch of words: greedy, beam, probability mass and samples."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardalign.batches import Aligned, Batch, in_batches
from hardalign.data.vocabulary import BEGIN, END, LENGTH_LIMIT, Encoded
from hardalign.errors import HardalignError
from hardalign.systems.lattice import quiet
from hardalign.systems.model import Answering
from hardalign.systems.ops.numpy import Bools, Floats, Ints, logsumexp

DEFAULT_BEAM = 5
"""Beam width where several strings are asked for and no width is given."""
MASS_BEAM, MASS_BEAM_LIMIT = 8, 256
"""First and last beam width of a search for probability mass."""
MAX_WIDTH = 10_000
"""The widest beam, and the most strings for one word: all of them are in memory at a time."""
SLACK = 1e-4
"""Tolerance between log-probabilities of the same string computed in different batches."""
TOLERANCE = 1e-6
"""Probability that a step of a search may leave out: about what float32 loses anyway."""
EXACT_TOLERANCE = 1e-9
"""The same for a greedy search whose scores must be exact: the symbol it chooses has at least the
average probability. A beam's symbols may be improbable, so its strings are scored again."""
FEW_SYMBOLS = 64
"""With so few source symbols in a batch, a beam leaves nothing out: cheaper than scoring again."""
SAMPLES = 512
"""Strings drawn at a time, to bound memory."""


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
    """Require an int (not a bool) between least and most."""
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integer or value < least or (most is not None and value > most):  # type: ignore[operator]
        bounds = f"from {least} to {most}" if most is not None else f"at least {least}"
        raise HardalignError(f"{name} must be a whole number {bounds}, not {value!r}")


def require(kind: type, value: object) -> None:
    """Require an argument of a type."""
    if not isinstance(value, kind) or isinstance(value, str):
        raise HardalignError(f"expected {kind.__name__}, not {value!r:.50}; see `example`")


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


def find_strings(
    batch: Batch,
    search: Search,
    places: Sequence[int] | None = None,
    *,
    exact: bool = True,
    alignments: bool = False,
) -> list[list[Hypothesis]]:
    """Return the strings found for each word of a batch: best first, or samples as drawn.

    Samples depend on the ``places`` of the words in their stream, by default 0, 1, 2, … Where
    log-probabilities need not be ``exact``, the search's own sums will do.
    """
    every = np.arange(len(batch.sources))
    if search.mass is not None:
        lists = _cover_mass(batch, search.mass)
    elif search.samples is not None:
        seeds = [(search.seed, place) for place in (every.tolist() if places is None else places)]
        lists = _draw_samples(batch, search.samples, seeds)
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
    """Return the greedy prediction for each word."""

    def work(words: Sequence[Encoded], _places: Sequence[int]) -> list[Hypothesis]:
        return greedy(Batch(model, words), np.arange(len(words)), TOLERANCE)

    return list(in_batches(model, work, sources, lambda word: len(word.source)))


def cumulative_probability(strings: Iterable[Any]) -> list[float]:
    """Return for each hypothesis or prediction the probability of it and those before it."""
    # What was cut off is no string that the model can produce.
    return list(accumulate(math.exp(s.log_prob) if s.finished else 0.0 for s in strings))


class History:
    """Every prefix that a search has continued, as a tree: each knows its parent.

    Nothing is copied while hypotheses multiply and die; strings are read off at the end.
    """

    def __init__(self, step_action: int) -> None:
        self._step_action, self._size = step_action, 0
        self._visits: list[tuple[Ints, Ints, Floats]] = []

    def visit(self, parents: Ints, actions: Ints, alpha: Floats) -> Ints:
        """Add prefixes that are about to be continued; return their numbers [N], consecutive.

        Each continues one of ``parents`` [N] (−1: none) by one of ``actions`` [N], after which the
        model looks at ``alpha`` [N, J].
        """
        self._visits.append((parents, actions, alpha))
        first, self._size = self._size, self._size + len(parents)
        return np.arange(first, self._size)

    def hypotheses(self, prefixes: Ints, last: Ints, scores: Floats) -> list[Hypothesis]:
        """Return the strings of ``prefixes`` [E], each continued by one ``last`` action [E]."""
        parents, actions, alphas = map(np.concatenate, zip(*self._visits, strict=True))
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
            if self._step_action >= 0:
                writing = chosen != self._step_action
                path, chosen = path[writing], chosen[writing]
            symbols = chosen.tolist()
            if finished := symbols[-1:] == [END]:
                symbols.pop()
            hypotheses.append(Hypothesis(symbols, score, finished, alphas[path]))
        return hypotheses


def greedy(batch: Batch, which: Ints, tolerance: float = 0.0) -> list[Hypothesis]:
    """Take the most probable action at every step, for the words ``which`` [N] of a batch.

    ``tolerance`` is how much probability may be left out of each step.
    """
    return _decode(batch, which, lambda log_probs, *_: np.asarray(log_probs.argmax(-1)), tolerance)


def sample(batch: Batch, which: Ints, noise: Floats) -> list[Hypothesis]:
    """Draw one string from the model's distribution for each word of ``which`` [N].

    ``noise`` [N, steps] is uniform in [0, 1): one number for each action, STEP included.
    """

    def choose(log_probs: Floats, walkers: Ints, step: int) -> Ints:
        mass = np.exp(log_probs.astype(np.float64)).cumsum(-1)
        # Ends at exactly 1, above all noise; what has no probability adds no mass to be hit.
        mass /= mass[:, -1:]
        return np.asarray((mass > noise[walkers, step, None]).argmax(-1))

    return _decode(batch, which, choose, 0.0)


def _draw_samples(
    batch: Batch, count: int, places: Sequence[tuple[int, int]]
) -> list[list[Hypothesis]]:
    """Draw ``count`` strings for each word, a part of all at a time."""
    seeds = [(*place, k) for place in places for k in range(count)]
    which = np.repeat(np.arange(len(places)), count)
    strings: list[Hypothesis] = []
    for k in range(0, len(seeds), SAMPLES):
        some = which[k : k + SAMPLES]
        noise = uniform_noise(seeds[k : k + SAMPLES], batch.words.lengths[some].tolist())
        strings += sample(batch, some, noise)
    return [strings[k : k + count] for k in range(0, len(strings), count)]


def uniform_noise(seeds: Sequence[Sequence[int]], lengths: Sequence[int]) -> Floats:
    """Return noise for ``sample``, for source words of some lengths.

    Each row depends on its own seed alone.
    """
    # As many symbols as the limit has, and a STEP for every source symbol.
    steps = [(LENGTH_LIMIT + 1) * length for length in lengths]
    rows = np.zeros((len(seeds), max(steps)))
    for row, seed, length in zip(rows, seeds, steps, strict=True):
        row[:length] = np.random.default_rng(seed).random(length)
    return rows


def _decode(
    batch: Batch, which: Ints, choose: Callable[[Floats, Ints, int], Ints], tolerance: float
) -> list[Hypothesis]:
    """Follow one path per row to its end; rows that are finished leave the batch.

    ``choose`` goes from log-probabilities [N, V], the rows [N] they belong to and the number of the
    step to the columns [N] that are chosen.
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


def _best_strings(
    batch: Batch, which: Ints, width: int, keep: int, *, mass: float = 1.0, exact: bool = True
) -> list[list[Hypothesis]]:
    """Search by beam; score the strings again where the search left something out."""
    leave_out = batch.words.symbols.size > FEW_SYMBOLS
    tolerance = TOLERANCE if leave_out else 0.0
    lists = beam_search(batch, which, width, keep=keep, mass=mass, tolerance=tolerance)
    if not exact or not leave_out or batch.model.step_action >= 0:
        return lists  # of strings with many paths, the sum over those met is all there is
    ended = [
        (word, [*string.symbols, END])
        for word, strings in zip(which.tolist(), lists, strict=True)
        for string in strings
        if string.finished
    ]
    scores = batch.scores([word for word, _ in ended], [target for _, target in ended])
    rescored = (
        [replace(s, log_prob=math.fsum(next(scores))) if s.finished else s for s in strings]
        for strings in lists
    )
    return [sorted(strings, key=lambda string: -string.log_prob) for strings in rescored]


def _cover_mass(batch: Batch, mass: float) -> list[list[Hypothesis]]:
    """Return the shortest lists of some probability, from beams as narrow as possible."""
    covering: list[list[Hypothesis]] = [[] for _ in batch.sources]
    pending, width = list(range(len(batch.sources))), MASS_BEAM
    while pending:
        lists = _best_strings(batch, np.array(pending), width, width, mass=mass)
        for word, strings in zip(pending, lists, strict=True):
            needed = bisect_left(cumulative_probability(strings), mass) + 1
            covering[word] = strings[:needed]
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
    """Return the ``keep`` most probable strings that a beam meets, for the words ``which`` [W].

    At every step the ``width`` best continuations of a word go on; an end that is among the
    ``width`` best of all is kept. A word is done as soon as nothing that goes on can still be
    among the strings that are wanted (``keep``, or fewer that have the ``mass`` together):
    log-probabilities only fall. Ties go to the better hypothesis, then to the lower symbol, so that
    a beam of width 1 is greedy search. Where no string was finished, the best that the length limit
    cut off is the only answer.

    Where a model has a STEP action, hypotheses are paths, and paths that write the same string
    are added up as they end: the sum is over the paths that were met, a lower bound. Otherwise,
    where a single string is wanted, greedy search goes first, and nothing less probable than its
    answer is followed, which halves the work.
    """
    model, limit = batch.model, batch.limits[which]
    paths = model.step_action >= 0
    quick: list[Hypothesis] = []
    floor = np.full(len(which), -np.inf)  # what is less probable is not followed
    if not paths and width > keep == 1:
        quick = greedy(batch, which, tolerance)
        floor[:] = [best.log_prob - SLACK if best.finished else -np.inf for best in quick]
    history = History(model.step_action)
    ended, cut_off = (np.full((len(which), width), EMPTY) for _ in range(2))
    word = np.arange(len(which))  # [W] those still searched for
    beam = np.full((len(which), 1), EMPTY)
    beam["score"] = 0.0
    state, rows = model.start(batch.memory), which
    while len(word):
        alive = beam["score"] > -np.inf  # [W, B]
        going_on = beam[alive]
        step = model.step(state, rows, going_on["action"], tolerance)
        prefixes = history.visit(going_on["prefix"], going_on["action"], step.alpha)
        # Every hypothesis ends in one way: of twice the width, at least half goes on.
        beam = _continued(beam, alive, prefixes, step.log_probs, 2 * width, model.step_action)
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
    """Empty the cells of candidates [W, K] for which a mask is false."""
    candidates = candidates.copy()
    candidates["score"][~mask] = -np.inf
    return candidates


def _continued(
    beam: Candidates, alive: Bools, prefixes: Ints, log_probs: Floats, count: int, step_action: int
) -> Candidates:
    """Return the best ``count`` continuations of each word's candidates [W, B].

    N cells are ``alive``: ``prefixes`` [N] are their numbers in the history, ``log_probs`` [N, V]
    those of their next actions.
    """
    actions = log_probs.shape[1]
    row = np.maximum(alive.cumsum() - 1, 0).reshape(alive.shape)  # [W, B] any where none is alive
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
"""The odd number nearest 2⁶⁴ / golden ratio, as a signed integer: it spreads bits well."""


def best_columns(scores: Floats, count: int) -> Ints:
    """Return the columns [W, count] of the largest scores, best first; of equals the first."""
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
    """Add complete candidates [W, K] of some words [W] to the best found so far, in place.

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
    """Return which hypotheses [W, B] may still lead to a string that is wanted.

    The threshold is the worst of the ``keep`` best of ``ended`` [W, width], or the last one that
    the ``mass`` needs.
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
