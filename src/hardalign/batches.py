"""Batches of words and pairs of similar length: answers, scores and alignments of whole streams."""

from __future__ import annotations

import math
import os
import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any, Protocol, TypeVar

import numpy as np

from hardalign.data.vocabulary import END, UNKNOWN, Encoded, batches_by_symbols
from hardalign.search import (
    MASS_BEAM,
    MASS_BEAM_LIMIT,
    Aligned,
    Hypothesis,
    Model,
    Read,
    Search,
    beam_search,
    greedy,
    sample,
    uniform_noise,
)
from hardalign.systems.batch import Targets, Words
from hardalign.systems.lattice import Lattice
from hardalign.systems.ops.numpy import Floats, Ints, logsumexp

TOLERANCE = 1e-6
"""Probability that a step of a search may leave out: about what float32 loses anyway."""
EXACT_TOLERANCE = 1e-9
"""The same for a greedy search whose scores must be exact: the symbol it chooses has at least the
average probability. A beam's symbols may be improbable, so its strings are scored again."""
FEW_SYMBOLS = 64
"""With so few source symbols in a batch, a beam leaves nothing out: cheaper than scoring again."""
SAMPLES = 512
"""Strings drawn at a time, to bound memory."""
LATTICE_CELLS = 1 << 21
"""Source times target symbols of the strings that are scored or aligned together."""
WINDOW = 8192
"""Answers held at a time, so that words of similar length can share a batch."""
BATCH_SYMBOLS = 3072
"""Source symbols in a batch, padding included. More costs memory and gains no speed; with fewer,
threads wait for each other's Python."""
BATCH_CELLS = 1 << 22
"""Source symbols of a batch times symbols of the target alphabet: large alphabets, small
batches."""
PARTICLES = 256
"""Particles of a pair followed at a time, to bound memory."""

Item = TypeVar("Item")
Job = TypeVar("Job")
Result = TypeVar("Result")


class Scored(Protocol):
    """A string with its log-probability: a ``Hypothesis`` or a ``Prediction``."""

    @property
    def log_prob(self) -> float: ...  # noqa: D102
    @property
    def finished(self) -> bool: ...  # noqa: D102


def cumulative_probability(strings: Iterable[Scored]) -> list[float]:
    """Returns for each string the probability of it and those before it together."""
    # What was cut off is no string that the model can produce.
    return list(accumulate(math.exp(s.log_prob) if s.finished else 0.0 for s in strings))


class Batch:
    """Source words of similar length that a model has read, once for all that is asked of them."""

    def __init__(self, model: Model, sources: Sequence[Encoded]) -> None:
        self.model, self.sources, self.words = model, sources, Words.of(sources)
        self.read = Read(model, self.words, model.read(self.words))
        self._leave_out = self.words.symbols.size > FEW_SYMBOLS

    def search(
        self,
        search: Search,
        places: Sequence[int] | None = None,
        *,
        exact: bool = True,
        alignments: bool = False,
    ) -> list[list[Hypothesis]]:
        """Returns the strings found for each word: best first, or samples as drawn.

        Args:
            search: What to search for.
            places: Of the words in their stream, on which samples depend; by default 0, 1, 2, …
            exact: Whether log-probabilities must be exact; else the search's own sums will do.
            alignments: Whether to align each string with its word.
        """
        every = np.arange(len(self.sources))
        if search.mass is not None:
            lists = self._covering(search.mass)
        elif search.samples is not None:
            lists = self._samples(
                search.samples, search.seed, range(len(every)) if places is None else places
            )
        elif search.width == 1:
            tolerance = EXACT_TOLERANCE if exact else TOLERANCE
            lists = [[best] for best in greedy(self.read, every, tolerance)]
        else:
            lists = self._beams(every, search.width, search.nbest or 1, exact=exact)
        if not alignments:
            return lists
        owners = [word for word, strings in enumerate(lists) for _ in strings]
        targets = [[*string.symbols, END] for strings in lists for string in strings]
        aligned = self.align(owners, targets)
        return [[replace(one, aligned=next(aligned)) for one in own] for own in lists]

    def scores(
        self, owners: Sequence[int], targets: Sequence[Sequence[int]]
    ) -> Iterator[list[float]]:
        """Yields log p(y_i | y_<i, x) of the symbols of targets, each of one of the words."""
        lattices = self._follow(owners, targets)
        rows = (row for lattice in lattices for row in lattice.log_probs().tolist())
        for row, target in zip(rows, targets, strict=True):
            yield row[: len(target)]

    def pair_scores(self) -> Iterator[list[float]]:
        """Yields log p(y_i | y_<i, x) of each pair's own target, the end included.

        From the first symbol on that the model cannot write, it is −inf.
        """
        targets = [pair.target for pair in self.sources]
        known = [t[: t.index(UNKNOWN)] if UNKNOWN in t else t[:-1] for t in targets]
        rows = self.scores(range(len(targets)), [[*target, END] for target in known])
        for row, target, part in zip(rows, targets, known, strict=True):
            if UNKNOWN in target:  # the end of what was cut is not its end
                row = row[:-1] + [-math.inf] * (len(target) - len(part))
            yield row

    def align(self, owners: Sequence[int], targets: Sequence[Sequence[int]]) -> Iterator[Aligned]:
        """Yields the alignments of targets, each with one of the words."""
        pairs = (
            pair
            for lattice in self._follow(owners, targets)
            for pair in zip(lattice.weights(), lattice.best_path().tolist(), strict=True)
        )
        for (weights, path), owner, target in zip(pairs, owners, targets, strict=True):
            rows, columns = len(target), len(self.sources[owner].source)
            yield Aligned(weights[:rows, :columns].astype(np.float64), path[:rows])

    def _beams(
        self, which: Ints, width: int, keep: int, *, mass: float = 1.0, exact: bool = True
    ) -> list[list[Hypothesis]]:
        """Beam search for some of the words; scores its strings again where that is needed."""
        tolerance = TOLERANCE if self._leave_out else 0.0
        lists = beam_search(self.read, which, width, keep=keep, mass=mass, tolerance=tolerance)
        if not exact or not self._leave_out or self.model.silent >= 0:
            return lists  # of strings with many paths, the sum over those met is all there is
        ended = [
            (word, [*string.symbols, END])
            for word, strings in zip(which.tolist(), lists, strict=True)
            for string in strings
            if string.finished
        ]
        scores = self.scores([word for word, _ in ended], [target for _, target in ended])
        rescored = (
            [replace(s, log_prob=math.fsum(next(scores))) if s.finished else s for s in strings]
            for strings in lists
        )
        return [sorted(strings, key=lambda string: -string.log_prob) for strings in rescored]

    def _samples(self, count: int, seed: int, places: Sequence[int]) -> list[list[Hypothesis]]:
        seeds = [(seed, place, k) for place in places for k in range(count)]
        which = np.repeat(np.arange(len(places)), count)
        strings: list[Hypothesis] = []
        for k in range(0, len(seeds), SAMPLES):
            some = which[k : k + SAMPLES]
            noise = uniform_noise(seeds[k : k + SAMPLES], self.words.lengths[some].tolist())
            strings += sample(self.read, some, noise)
        return [strings[k : k + count] for k in range(0, len(strings), count)]

    def _covering(self, mass: float) -> list[list[Hypothesis]]:
        """Returns the shortest lists of some probability, from beams as narrow as possible."""
        covering: list[list[Hypothesis]] = [[] for _ in self.sources]
        pending, width = list(range(len(self.sources))), MASS_BEAM
        while pending:
            lists = self._beams(np.array(pending), width, width, mass=mass)
            for word, strings in zip(pending, lists, strict=True):
                needed = bisect_left(cumulative_probability(strings), mass) + 1
                covering[word] = strings[:needed]
            if width >= MASS_BEAM_LIMIT:
                break
            pending = [w for w in pending if cumulative_probability(covering[w])[-1] < mass]
            width *= 2
        return covering

    def _follow(self, owners: Sequence[int], targets: Sequence[Sequence[int]]) -> Iterator[Lattice]:
        """Yields lattices that together hold all of some targets, in order."""
        width, start = self.words.symbols.shape[1], 0
        while start < len(targets):
            end, longest = start, 0
            while end < len(targets):
                longest = max(longest, len(targets[end]))
                if end > start and (end + 1 - start) * longest * width > LATTICE_CELLS:
                    break
                end += 1
            part = Targets.of(owners[start:end], targets[start:end])
            yield self.model.follow(self.read.memory, part)
            start = end


class _OneBlasThread:
    """While batches are worked on, matrix products use one thread, and then as many as before.

    These products are small: threads would cost several times what they save. Callers may overlap;
    the first one sets the limit, the last one takes it away.
    """

    def __init__(self) -> None:
        self._lock, self._running = threading.Lock(), 0
        self._controller: Any = None
        self._limits: Any = None

    def __enter__(self) -> None:
        if os.environ.get("OPENBLAS_NUM_THREADS") == "1":
            return
        with self._lock:
            if self._running == 0:
                if self._controller is None:
                    from threadpoolctl import (  # type: ignore[import-untyped]
                        ThreadpoolController,
                    )

                    self._controller = ThreadpoolController().select(user_api="blas")
                self._limits = self._controller.limit(limits=1)
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running = max(0, self._running - 1)
            if self._running == 0 and self._limits is not None:
                self._limits.restore_original_limits()
                self._limits = None


one_blas_thread = _OneBlasThread()


def in_batches(
    model: Model,
    work: Callable[[Sequence[Item], Sequence[int]], Iterable[Result]],
    items: Iterable[Item],
    length: Callable[[Item], int],
    *,
    results: int = 1,
    threads: int = 1,
) -> Iterator[Result]:
    """Yields a result for each item of a stream of any length, in order and in constant memory.

    Args:
        model: Whose alphabet bounds the size of a batch.
        work: From the items of a batch and their places in the stream to their results.
        items: The stream.
        length: Source symbols of an item; batches are of similar length.
        results: How many results an item may have: the more, the fewer items are held at a time.
        threads: How many batches to work on at a time.
    """
    symbols = max(1, min(BATCH_SYMBOLS, BATCH_CELLS // model.symbols))

    def jobs() -> Iterator[tuple[list[Item], list[int], int]]:
        """Yields the items of a window, the places of a batch in it, and where it begins."""
        stream, first = iter(items), 0
        while held := list(islice(stream, max(1, WINDOW // results))):
            for places in batches_by_symbols([length(item) for item in held], symbols):
                yield held, places, first
            first += len(held)

    def run(job: tuple[list[Item], list[int], int]) -> tuple[int, list[int], list[Result]]:
        held, places, first = job
        found = work([held[k] for k in places], [first + k for k in places])
        return len(held), places, list(found)

    window: dict[int, Result] = {}
    for size, places, found in in_order(run, jobs(), threads):
        window.update(zip(places, found, strict=True))
        if len(window) == size:
            yield from (window[k] for k in range(size))
            window = {}


def in_order(work: Callable[[Job], Result], jobs: Iterable[Job], threads: int) -> Iterator[Result]:
    """Yields the result of each job, in the order of the jobs and in constant memory.

    NumPy lets other threads run while it computes, so that threads are enough. Jobs are taken from
    their iterator only shortly before they are worked on.
    """
    if threads == 1:
        for job in jobs:
            with one_blas_thread:
                result = work(job)
            yield result
        return
    with one_blas_thread, ThreadPoolExecutor(threads, "hardalign") as pool:
        pending: deque[Future[Result]] = deque()
        try:
            for job in jobs:
                pending.append(pool.submit(work, job))
                if len(pending) > 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def predictions(model: Model, sources: Iterable[Encoded]) -> list[Hypothesis]:
    """Returns the greedy prediction for each word."""

    def work(batch: Sequence[Encoded], _places: Sequence[int]) -> list[Hypothesis]:
        return [best for (best,) in Batch(model, batch).search(Search(), exact=False)]

    return list(in_batches(model, work, sources, lambda word: len(word.source)))


def log_likelihoods(model: Model, pairs: Iterable[Encoded]) -> list[float]:
    """Returns log p(y | x) of each pair; −inf where the model cannot write the target."""

    def work(batch: Sequence[Encoded], _places: Sequence[int]) -> Iterator[float]:
        return map(math.fsum, Batch(model, batch).pair_scores())

    return list(in_batches(model, work, pairs, pair_length))


def pair_length(pair: Encoded) -> int:
    """Returns what a pair counts in a batch."""
    return max(len(pair.source), len(pair.target))


def estimate(model: Model, pair: Encoded, particles: int, seed: Sequence[int]) -> float:
    """Estimates log p(y | x) of a pair by particles; −inf where the target cannot be written.

    The mean of the particles' weights is an unbiased estimate of p(y | x); the same seed gives the
    same estimate.
    """
    if UNKNOWN in pair.target:
        return -math.inf
    memory, targets = model.read(Words.of([pair])), Targets.of([0], [pair.target])
    random = np.random.default_rng(seed)
    estimates = []
    for start in range(0, particles, PARTICLES):
        count = min(PARTICLES, particles - start)
        (value,) = model.estimate(memory, targets, random.random((1, len(pair.target), count)))
        estimates.append(float(value) + math.log(count / particles))
    return float(logsumexp(np.array(estimates)))


def sample_alignments(model: Model, pair: Encoded, noise: Floats) -> Ints:
    """Draws alignments of a pair from p(a | x, y).

    Args:
        model: The model.
        pair: Source and target.
        noise: [target symbols and end, S] independent and uniform in [0, 1).

    Returns:
        [target symbols and end, S] source positions, begin and tags included.

    Raises:
        HardalignError: If the system has no distribution over alignments.
    """
    memory, targets = model.read(Words.of([pair])), Targets.of([0], [pair.target])
    return np.asarray(model.follow(memory, targets).samples(noise[None])[0])
