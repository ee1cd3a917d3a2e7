"""Batched iteration over words and pairs, bucketed by length."""

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
from hardalign.errors import require_int
from hardalign.systems.lattice import Lattice
from hardalign.systems.model import Answering, Targets, Words
from hardalign.systems.ops.numpy import Floats, Ints, logsumexp

LATTICE_CELLS = 1 << 21
"""Maximum source × target symbols of the strings scored or aligned together."""
WINDOW = 8192
"""Results buffered at a time, so that words of similar length can share a batch."""
WINDOW_CELLS = 1 << 24
"""Maximum sum of squared lengths of the buffered words, as each result holds a matrix."""
BATCH_SYMBOLS = 3072
"""Maximum source symbols of a batch, including padding. More costs memory without gaining speed;
with fewer, threads wait for the GIL."""
BATCH_CELLS = 1 << 22
"""Maximum source symbols of a batch × size of the target alphabet."""
PARTICLES = 256
"""Particles of a pair computed at a time, to bound memory."""

Item = TypeVar("Item")
Job = TypeVar("Job")
Result = TypeVar("Result")


class Aligned(NamedTuple):
    """Alignment weights and best path of a pair."""

    weights: Floats
    """[target symbols and end; begin, tags, source symbols, end]"""
    path: list[int]
    """The most probable alignment: a column of ``weights`` for each row."""


class Batch:
    """Encoded source words of similar length."""

    def __init__(
        self, model: Answering, sources: Sequence[Encoded], words: Words | None = None
    ) -> None:
        self.model, self.sources, self.words = model, sources, words or Words.of(sources)
        self.memory = model.read(self.words)
        self.limits: Ints = LENGTH_LIMIT * self.words.lengths
        """[B] maximum target length of each word."""

    def scores(
        self, owners: Sequence[int], targets: Sequence[Sequence[int]]
    ) -> Iterator[list[float]]:
        """Yield log p(y_i | y_<i, x) of the symbols of each target; ``owners`` are their words."""
        lattices = self.follow(owners, targets)
        rows = (row for lattice in lattices for row in lattice.log_probs().tolist())
        for row, target in zip(rows, targets, strict=True):
            yield row[: len(target)]

    def pair_scores(self) -> Iterator[list[float]]:
        """Yield log p(y_i | y_<i, x) of each pair's own target, end included.

        Scores are −inf from the first symbol that the model cannot write.
        """
        targets = [pair.target for pair in self.sources]
        known = [t[: t.index(UNKNOWN)] if UNKNOWN in t else t[:-1] for t in targets]
        rows = self.scores(range(len(targets)), [[*target, END] for target in known])
        for row, target, part in zip(rows, targets, known, strict=True):
            if UNKNOWN in target:  # drop the score of END after the known prefix
                row = row[:-1] + [-math.inf] * (len(target) - len(part))
            yield row

    def align(self, owners: Sequence[int], targets: Sequence[Sequence[int]]) -> Iterator[Aligned]:
        """Yield the alignment of each target; ``owners`` are their words."""
        pairs = (
            pair
            for lattice in self.follow(owners, targets)
            for pair in zip(lattice.weights(), lattice.best_path().tolist(), strict=True)
        )
        for (weights, path), owner, target in zip(pairs, owners, targets, strict=True):
            rows, columns = len(target), len(self.sources[owner].source)
            yield Aligned(weights[:rows, :columns].astype(np.float64), path[:rows])

    def follow(self, owners: Sequence[int], targets: Sequence[Sequence[int]]) -> Iterator[Lattice]:
        """Yield lattices of bounded size over all targets, in order; ``owners`` are their words."""
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
    work: Callable[[Sequence[Item]], Iterable[Result]],
    items: Iterable[Item],
    length: Callable[[Item], int],
    *,
    results: int = 1,
    threads: int = 1,
) -> Iterator[Result]:
    """Return the result of each item of a stream, in order and in constant memory.

    ``work`` maps a batch of items of similar ``length`` to their results. ``results``, the maximum
    number of answers per item, shrinks the window; ``threads`` batches run at once.
    """
    require_int("threads", threads, 1)
    symbols = max(1, min(BATCH_SYMBOLS, BATCH_CELLS // model.symbols))

    def jobs() -> Iterator[tuple[list[Item], list[int]]]:
        """Yield each batch as the items of its window and its indices into them."""
        stream, most = iter(items), max(1, WINDOW // results)
        while held := list(within(WINDOW_CELLS, islice(stream, most), lambda x: length(x) ** 2)):
            for places in batches_by_symbols([length(item) for item in held], symbols):
                yield held, places

    def run(job: tuple[list[Item], list[int]]) -> tuple[int, list[int], list[Result]]:
        held, places = job
        return len(held), places, list(work([held[k] for k in places]))

    def sorted_results() -> Iterator[Result]:
        window: dict[int, Result] = {}
        for size, places, found in in_order(run, jobs(), threads):
            window.update(zip(places, found, strict=True))
            if len(window) == size:
                yield from (window[k] for k in range(size))
                window = {}

    return sorted_results()


def within(limit: int, items: Iterable[Item], size: Callable[[Item], int]) -> Iterator[Item]:
    """Yield items until their total size reaches a limit."""
    total = 0
    for item in items:
        yield item
        total += size(item)
        if total >= limit:
            return


def in_order(work: Callable[[Job], Result], jobs: Iterable[Job], threads: int) -> Iterator[Result]:
    """Yield the result of each job, in order, taking jobs only shortly before they run.

    Threads suffice because NumPy releases the GIL.
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
    """Limits BLAS to one thread while batches are computed, and restores the previous limit.

    The matrix products are small, so threads would cost several times what they save. Callers
    may overlap: the first one sets the limit, the last one restores it.
    """

    def __init__(self) -> None:
        self._lock, self._callers = threading.Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._callers == 0 and os.environ.get("OPENBLAS_NUM_THREADS") != "1":
                _let_any_thread_limit()
                self._limit = _blas_controller().limit(limits=1)
            self._callers += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._callers -= 1
            if self._callers == 0 and self._limit is not None:
                _let_any_thread_limit()  # the last caller need not be the first
                self._limit.restore_original_limits()
                self._limit = None
                _let_any_thread_limit()


@cache
def _blas_controller() -> Any:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")


def _let_any_thread_limit() -> None:
    """Let this thread set OpenBLAS's limit; threadpoolctl 3.8 allows only the first that did."""
    for library in _blas_controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


one_blas_thread = _OneBlasThread()


def log_likelihoods(model: Answering, pairs: Iterable[Encoded]) -> list[float]:
    """Return log p(y | x) of each pair; −inf if the model cannot write the target."""

    def work(batch: Sequence[Encoded]) -> Iterator[float]:
        return map(math.fsum, Batch(model, batch).pair_scores())

    return list(in_batches(model, work, pairs, pair_length))


def pair_length(pair: Encoded) -> int:
    """Return the length of a pair: that of its longer side."""
    return max(len(pair.source), len(pair.target))


def estimate(model: Answering, pair: Encoded, particles: int, seed: Sequence[int]) -> float:
    """Estimate log p(y | x) of a pair with particles; −inf if the target cannot be written.

    The mean weight of the particles is an unbiased estimate of p(y | x).
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
