"""Streams of words and pairs, worked on in batches of similar length."""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hardalign.data.vocabulary import END, LENGTH_LIMIT, UNKNOWN, Encoded, batches_by_symbols
from hardalign.systems.batch import Targets, Words
from hardalign.systems.lattice import Lattice
from hardalign.systems.model import Answering
from hardalign.systems.ops.numpy import Floats, Ints, logsumexp

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


class Aligned(NamedTuple):
    """The alignment of a pair, as numbers."""

    weights: Floats
    """[target symbols and end; begin, tags, source symbols, end]"""
    path: list[int]
    """The most probable alignment: a column of ``weights`` for each row."""


class Batch:
    """Source words of similar length that a model has read, once for all that is asked of them."""

    def __init__(
        self, model: Answering, sources: Sequence[Encoded], words: Words | None = None
    ) -> None:
        self.model, self.sources, self.words = model, sources, words or Words.of(sources)
        self.memory = model.read(self.words)
        self.limits: Ints = LENGTH_LIMIT * self.words.lengths
        """[B] how many symbols may be written for each word."""

    def scores(
        self, owners: Sequence[int], targets: Sequence[Sequence[int]]
    ) -> Iterator[list[float]]:
        """Yield log p(y_i | y_<i, x) of the symbols of targets, each of one of the words."""
        lattices = self._follow(owners, targets)
        rows = (row for lattice in lattices for row in lattice.log_probs().tolist())
        for row, target in zip(rows, targets, strict=True):
            yield row[: len(target)]

    def pair_scores(self) -> Iterator[list[float]]:
        """Yield log p(y_i | y_<i, x) of each pair's own target, the end included.

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
        """Yield the alignments of targets, each with one of the words."""
        pairs = (
            pair
            for lattice in self._follow(owners, targets)
            for pair in zip(lattice.weights(), lattice.best_path().tolist(), strict=True)
        )
        for (weights, path), owner, target in zip(pairs, owners, targets, strict=True):
            rows, columns = len(target), len(self.sources[owner].source)
            yield Aligned(weights[:rows, :columns].astype(np.float64), path[:rows])

    def _follow(self, owners: Sequence[int], targets: Sequence[Sequence[int]]) -> Iterator[Lattice]:
        """Yield lattices of bounded size that together hold all targets, in order."""
        width, start = self.words.symbols.shape[1], 0
        while start < len(targets):
            end, longest = start, 0
            while end < len(targets):
                longest = max(longest, len(targets[end]))
                if end > start and (end + 1 - start) * longest * width > LATTICE_CELLS:
                    break
                end += 1
            part = Targets.of(owners[start:end], targets[start:end])
            yield self.model.follow(self.memory, part)
            start = end


def in_batches(
    model: Answering,
    work: Callable[[Sequence[Item], Sequence[int]], Iterable[Result]],
    items: Iterable[Item],
    length: Callable[[Item], int],
    *,
    results: int = 1,
    threads: int = 1,
) -> Iterator[Result]:
    """Yield a result for each item of a stream of any length, in order and in constant memory.

    ``work`` goes from the items of a batch (of similar ``length``) and their places in the stream
    to their results; ``threads`` batches are worked on at a time. The more ``results`` an item may
    have, the fewer items are held at a time.
    """
    symbols = max(1, min(BATCH_SYMBOLS, BATCH_CELLS // model.symbols))

    def jobs() -> Iterator[tuple[list[Item], list[int], int]]:
        """Yield the items of a window, the places of a batch in it, and where the window begins."""
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
    """Yield the result of each job, in the order of the jobs and in constant memory.

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


class _OneBlasThread:
    """While batches are worked on, matrix products use one thread, and then as many as before.

    These products are small: threads would cost several times what they save. Callers may overlap;
    the first one sets the limit, the last one takes it away.
    """

    def __init__(self) -> None:
        self._lock, self._callers = threading.Lock(), 0
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._callers == 0 and os.environ.get("OPENBLAS_NUM_THREADS") != "1":
                self._before = [(library, library.get_num_threads()) for library in _libraries()]
                for library, _ in self._before:
                    library.set_num_threads(1)
            self._callers += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._callers -= 1
            if self._callers == 0:
                for library, threads in self._before:
                    library.set_num_threads(threads)
                self._before = []


@cache
def _libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


one_blas_thread = _OneBlasThread()


def log_likelihoods(model: Answering, pairs: Iterable[Encoded]) -> list[float]:
    """Return log p(y | x) of each pair; −inf where the model cannot write the target."""

    def work(batch: Sequence[Encoded], _places: Sequence[int]) -> Iterator[float]:
        return map(math.fsum, Batch(model, batch).pair_scores())

    return list(in_batches(model, work, pairs, pair_length))


def pair_length(pair: Encoded) -> int:
    """Return what a pair counts in a batch."""
    return max(len(pair.source), len(pair.target))


def estimate(model: Answering, pair: Encoded, particles: int, seed: Sequence[int]) -> float:
    """Estimate log p(y | x) of a pair by particles; −inf where the target cannot be written.

    The mean of the particles' weights is an unbiased estimate of p(y | x); the same seed gives the
    same estimate.
    """
    if UNKNOWN in pair.target:
        return -math.inf
    memory, targets = model.read(Words.of([pair])), Targets.of([0], [pair.target])
    random, estimates = np.random.default_rng(seed), []
    for start in range(0, particles, PARTICLES):
        count = min(PARTICLES, particles - start)
        (value,) = model.estimate(memory, targets, random.random((1, len(pair.target), count)))
        estimates.append(float(value) + math.log(count / particles))
    return float(logsumexp(np.array(estimates)))
