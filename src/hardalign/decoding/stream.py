"""Streams of any length in batches of similar length, in constant memory, results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from hardalign.data.encoding import batches_by_symbols

Item = TypeVar("Item")
Job = TypeVar("Job")
Result = TypeVar("Result")


def in_batches(
    work: Callable[[Sequence[Item], Sequence[int]], Sequence[Result]],
    items: Iterable[Item],
    length: Callable[[Item], int],
    *,
    window: int,
    symbols: int,
    threads: int = 1,
) -> Iterator[Result]:
    """Yields a result for each item of a stream.

    Args:
        work: From the items of a batch and their places in the stream to their results.
        items: The stream.
        length: How long an item is; batches are of similar length.
        window: How many items to hold at a time, so that some are of similar length.
        symbols: How long the items of a batch may be together.
        threads: How many batches to work on at a time.
    """

    def jobs() -> Iterator[tuple[list[Item], list[int], int]]:
        """Yields the items of a window, the places of a batch in it, and where it begins."""
        stream, first = iter(items), 0
        while held := list(islice(stream, window)):
            for places in batches_by_symbols([length(item) for item in held], symbols):
                yield held, places, first
            first += len(held)

    def run(
        job: tuple[list[Item], list[int], int],
    ) -> tuple[list[Item], list[int], Sequence[Result]]:
        held, places, first = job
        return held, places, work([held[k] for k in places], [first + k for k in places])

    results: dict[int, Result] = {}
    for held, places, answers in in_order(run, jobs(), threads):
        results.update(zip(places, answers, strict=True))
        if len(results) == len(held):
            yield from (results[k] for k in range(len(held)))
            results = {}


def in_order(work: Callable[[Job], Result], jobs: Iterable[Job], threads: int) -> Iterator[Result]:
    """Yields the result of each job, in the order of the jobs and in constant memory.

    NumPy lets other threads run while it computes, so that threads are enough. Jobs are taken from
    their iterator only shortly before they are worked on.
    """
    if threads == 1:
        yield from map(work, jobs)
        return
    with ThreadPoolExecutor(threads, "hardalign") as pool:
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
