"""Work done by several threads, its results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


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
