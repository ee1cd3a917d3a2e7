from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from hardalign.decoding.stream import in_batches, in_order

threads = pytest.mark.parametrize("count", [1, 2, 5])


@threads
def test_results_come_in_the_order_of_the_jobs(count: int) -> None:
    gate = threading.Event()

    def work(job: int) -> int:
        if job == 0 and count > 1:
            gate.wait(10)  # the first takes longest
        if job == 1:
            gate.set()
        return job * job

    assert list(in_order(work, range(20), count)) == [k * k for k in range(20)]


@threads
def test_an_error_is_raised_in_its_place(count: int) -> None:
    def work(job: int) -> int:
        return 6 // (3 - job)

    results = in_order(work, range(10), count)
    assert [next(results) for _ in range(3)] == [2, 3, 6]
    with pytest.raises(ZeroDivisionError):
        next(results)


@threads
def test_an_error_of_the_jobs_themselves_is_raised(count: int) -> None:
    def jobs() -> Iterator[int]:
        yield 1
        raise ValueError("line 2")

    with pytest.raises(ValueError, match="line 2"):
        list(in_order(lambda job: job, jobs(), count))


@threads
def test_jobs_are_taken_shortly_before_they_are_worked_on(count: int) -> None:
    taken: list[int] = []
    before = set(threading.enumerate())

    def jobs() -> Iterator[int]:
        for k in range(1000):
            taken.append(k)
            yield k

    results = in_order(lambda job: job, jobs(), count)
    for k in range(50):
        assert next(results) == k
        assert len(taken) <= k + 2 + 2 * count
    results.close()  # type: ignore[attr-defined]
    assert set(threading.enumerate()) <= before  # nobody waits for jobs that will not come


@threads
def test_every_item_has_the_result_of_its_own_place(count: int) -> None:
    items = [(k * 7) % 13 for k in range(50)]
    sizes = []

    def work(batch: list[int], places: list[int]) -> list[tuple[int, int]]:
        sizes.append(sum(batch))
        return list(zip(batch, places, strict=True))

    results = in_batches(
        work,
        items,
        lambda item: item,
        window=12,
        symbols=20,
        threads=count,  # type: ignore[arg-type]
    )
    assert list(results) == [(item, k) for k, item in enumerate(items)]
    assert len(sizes) > 10
    assert max(sizes) <= 20
