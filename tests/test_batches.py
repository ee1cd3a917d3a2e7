"""Streams of words and pairs: batches, order, threads, scores, alignments and memory."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from hardalign import batches
from hardalign import search as searching
from hardalign.batches import (
    Aligned,
    Batch,
    estimate,
    in_batches,
    in_order,
    log_likelihoods,
    one_blas_thread,
    pair_length,
)
from hardalign.data.vocabulary import END, UNKNOWN, Encoded
from hardalign.decoding import Hypothesis
from hardalign.search import (
    Search,
    cumulative_probability,
    find_strings,
    predictions,
)
from hardalign.systems import SYSTEMS
from hardalign.systems.model import Answering, Targets, Words
from helpers import TINY, random_pair, random_pairs, tiny_runtime
from searching import Table, distribution, greedily, strings

systems = pytest.mark.parametrize("system", SYSTEMS)
exact = pytest.mark.parametrize("system", [k for k, v in SYSTEMS.items() if v.score == "exact"])
SEARCHES = [Search(), Search(beam=3), Search(nbest=3), Search(samples=3, seed=4)]


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[Encoded]:
    """Words of mixed lengths, and batches and lattices too small to hold them all."""
    monkeypatch.setattr(batches, "BATCH_SYMBOLS", 40)
    monkeypatch.setattr(batches, "LATTICE_CELLS", 80)
    pairs = random_pairs(8, longest=4)
    random.Random(0).shuffle(pairs)
    return pairs


def talkative(system: str = "hard", **options: Any) -> Answering:
    return tiny_runtime(system, **{"scale": 3.0, "end": 2.0, **options})


def answer(
    runtime: Answering,
    words: Iterable[Encoded],
    search: Search,
    *,
    threads: int = 1,
    **options: bool,
) -> Iterator[list[Hypothesis]]:
    def work(some: list[tuple[int, Encoded]]) -> list[list[Hypothesis]]:
        places, encoded = zip(*some, strict=True)
        return find_strings(Batch(runtime, encoded), search, places, **options)

    return in_batches(
        runtime,
        work,
        enumerate(words),
        lambda item: (search.width + 1) // 2 * len(item[1].source),
        results=search.most,
        threads=threads,
    )


def symbol_scores(
    runtime: Answering, pairs: Iterable[Encoded], threads: int = 1
) -> Iterator[list[float]]:
    return in_batches(
        runtime,
        lambda some: Batch(runtime, some).pair_scores(),
        pairs,
        pair_length,
        threads=threads,
    )


def align(runtime: Answering, pairs: Iterable[Encoded], threads: int = 1) -> Iterator[Aligned]:
    return in_batches(
        runtime,
        lambda some: Batch(runtime, some).align(range(len(some)), [p.target for p in some]),
        pairs,
        pair_length,
        threads=threads,
    )


@systems
def test_the_model_has_much_to_say(system: str, words: list[Encoded]) -> None:
    """Or the tests below would prove little."""
    lists = answer(talkative(system), words, Search(nbest=3))
    assert len({len(one.symbols) for own in lists for one in own}) > 2


@systems
@pytest.mark.parametrize("search", SEARCHES)
def test_answers_come_in_order_whatever_their_mates(
    system: str, search: Search, words: list[Encoded]
) -> None:
    runtime = talkative(system)
    together = list(answer(runtime, words, search))
    assert len(together) == len(words)
    for place, (word, own) in enumerate(zip(words, together, strict=True)):
        if search.samples:  # which depend on the place
            alone = list(answer(runtime, [word] * (place + 1), search))[place]
        else:
            (alone,) = answer(runtime, [word], search)
        assert strings(alone) == strings(own)
        scores = [hypothesis.log_prob for hypothesis in own]
        assert [one.log_prob for one in alone] == pytest.approx(scores, abs=1e-5)


@systems
@pytest.mark.parametrize("search", SEARCHES)
def test_threads_change_nothing(system: str, search: Search, words: list[Encoded]) -> None:
    runtime = talkative(system, dtype=np.float32)
    one, four = (
        [
            [(h.symbols, h.log_prob, h.finished) for h in own]
            for own in answer(runtime, words, search, threads=threads)
        ]
        for threads in (1, 4)
    )
    assert one == four


@systems
def test_threads_change_no_scores_or_alignments(system: str, words: list[Encoded]) -> None:
    runtime = talkative(system, dtype=np.float32)
    assert list(symbol_scores(runtime, words, threads=4)) == list(symbol_scores(runtime, words))
    for here, there in zip(align(runtime, words), align(runtime, words, threads=4), strict=True):
        assert (here.weights == there.weights).all()


@systems
def test_predictions_are_greedy(system: str, words: list[Encoded]) -> None:
    runtime = talkative(system)
    greedy = [greedily(runtime, [word])[0] for word in words]
    assert strings(predictions(runtime, words)) == strings(greedy)
    lists = answer(runtime, words, Search(beam=1))
    assert strings([one for (one,) in lists]) == strings(greedy)


@systems
def test_scores_are_the_log_likelihoods_and_in_order(
    system: str, words: list[Encoded], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A search that leaves much out, so that its own sums would not do.
    monkeypatch.setattr(searching, "TOLERANCE", 0.5)
    monkeypatch.setattr(searching, "FEW_SYMBOLS", 0)
    runtime = talkative(system, dtype=np.float32, scale=4.0)
    inexact = 0
    for search in SEARCHES:
        pairs, log_probs = [], []
        lists = answer(runtime, words, search)
        quick = answer(runtime, words, search, exact=False)
        for word, own, rough in zip(words, lists, quick, strict=True):
            scores = [one.log_prob for one in own]
            if not search.samples:
                assert scores == sorted(scores, reverse=True)
            ended = [one for one in own if one.finished]
            pairs += [replace(word, target=[*one.symbols, END]) for one in ended]
            log_probs += [one.log_prob for one in ended]
            inexact += scores != pytest.approx([h.log_prob for h in rough], abs=1e-5)
        if system != "monotonic":
            assert log_probs == pytest.approx(log_likelihoods(runtime, pairs), abs=1e-5)
    assert (inexact > 0) == (SYSTEMS[system].alignment == "posterior")


@systems
def test_alignments_are_those_of_given_pairs(system: str, words: list[Encoded]) -> None:
    runtime = talkative(system)
    for search in SEARCHES[2:]:
        for word, own in zip(words, answer(runtime, words, search, alignments=True), strict=True):
            pairs = [replace(word, target=[*one.symbols, END]) for one in own]
            for one, expected in zip(own, align(runtime, pairs), strict=True):
                assert one.aligned is not None
                shape = len(one.symbols) + 1, len(word.source)
                assert one.aligned.weights.shape == shape
                np.testing.assert_allclose(one.aligned.weights, expected.weights, atol=1e-9)
                assert one.aligned.path == expected.path
    assert all(one.aligned is None for own in answer(runtime, words, Search()) for one in own)


@systems
def test_scores_and_alignments_of_pairs_are_their_own(system: str, words: list[Encoded]) -> None:
    runtime = talkative(system)
    rows, aligned = symbol_scores(runtime, words), align(runtime, words)
    for pair, row, alignment in zip(words, rows, aligned, strict=True):
        memory = runtime.read(Words.of([pair]))
        lattice = runtime.follow(memory, Targets.of([0], [pair.target]))
        assert row == pytest.approx(lattice.log_probs()[0].tolist(), abs=1e-9)
        assert alignment.weights.shape == (len(pair.target), len(pair.source))
        assert alignment.weights.dtype == np.float64
        np.testing.assert_allclose(alignment.weights, lattice.weights()[0], rtol=0, atol=1e-9)
        assert alignment.path == lattice.best_path()[0].tolist()
    totals = [math.fsum(row) for row in symbol_scores(runtime, words)]
    assert log_likelihoods(runtime, words) == pytest.approx(totals, abs=1e-9)


@systems
@pytest.mark.parametrize("place", [0, 1, 3])
def test_nothing_comes_after_what_cannot_be_spelled(system: str, place: int) -> None:
    runtime, pair = talkative(system), random_pair(4, 4)
    odd = replace(pair, target=[*pair.target[:place], UNKNOWN, *pair.target[place:]])
    scores, known = symbol_scores(runtime, [odd, pair])
    assert len(scores) == len(odd.target)
    assert scores[place:] == [-math.inf] * (len(odd.target) - place)
    if system != "monotonic":  # whose aligner sees the whole target
        assert scores[:place] == pytest.approx(known[:place], abs=1e-9)
    assert log_likelihoods(runtime, [odd, pair])[0] == -math.inf


@exact
@pytest.mark.parametrize("mass", [0.3, 0.6])
def test_the_shortest_list_that_covers_the_mass(system: str, mass: float) -> None:
    runtime = tiny_runtime(system, scale=2.0, end=4.0)
    words = random_pairs(4, longest=2, seed=1)
    for word, own in zip(words, answer(runtime, words, Search(mass=mass)), strict=True):
        best = sorted(distribution(runtime, word, longest=4).values(), reverse=True)
        sums = np.cumsum(best)
        needed = int((sums < mass).sum()) + 1
        assert len(own) == needed
        assert cumulative_probability(own) == pytest.approx(sums[:needed].tolist(), abs=1e-9)
        assert cumulative_probability(own)[-1] >= mass


def test_beams_are_widened_only_where_they_must(monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[tuple[int, int]] = []
    search = searching.beam_search

    def spy(*arguments: Any, **options: Any) -> Any:
        *_, which, width = arguments
        widths.append((width, len(which)))
        return search(*arguments, **options)

    monkeypatch.setattr(searching, "beam_search", spy)
    monkeypatch.setattr(searching, "MASS_BEAM_LIMIT", 32)
    words = random_pairs(12, longest=3, seed=1)
    lists = list(answer(tiny_runtime(scale=3.0, end=3.0), words, Search(mass=0.9)))
    short = [own for own in lists if cumulative_probability(own)[-1] < 0.9]
    assert {width for width, _ in widths} == {8, 16, 32}
    counts = [sum(count for w, count in widths if w == width) for width in (8, 16, 32)]
    assert 12 == counts[0] > counts[1] >= counts[2] >= len(short) > 0


def test_what_was_cut_off_covers_nothing() -> None:
    endless = Table([{1: (0.5, 0), 2: (0.5, 0)}])
    ((best,),) = answer(endless, random_pairs(1), Search(mass=0.5))
    assert not best.finished
    assert cumulative_probability([best]) == [0.0]


def test_mass_sums_to_at_most_1(words: list[Encoded]) -> None:
    for own in answer(talkative(), words, Search(nbest=40)):
        assert cumulative_probability(own)[-1] <= 1 + 1e-9
        assert math.isfinite(own[0].log_prob)


def test_samples_depend_on_the_seed_and_the_place_alone(words: list[Encoded]) -> None:
    runtime = talkative()

    def drawn(count: int, copies: int = 1, seed: int = 0) -> list[list[tuple[int, ...]]]:
        lists = answer(runtime, words[:1] * copies, Search(samples=count, seed=seed))
        return [strings(own) for own in lists]

    first, second = drawn(20, copies=2)
    assert first != second
    assert drawn(30)[0][:20] == first
    assert drawn(20, seed=1)[0] != first
    assert len(set(first)) < 20  # some are equal, as it happens


@pytest.mark.parametrize("threads", [1, 3])
def test_a_stream_is_read_window_by_window(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "WINDOW", 8)
    monkeypatch.setattr(batches, "BATCH_SYMBOLS", 20)
    read = []

    def stream() -> Iterator[Encoded]:
        for k in range(1000):
            read.append(k)
            yield random_pair(1 + k % 3, 1, seed=k)

    runtime = talkative(dtype=np.float32)
    for make in (
        lambda: answer(runtime, stream(), Search(), threads=threads),
        lambda: symbol_scores(runtime, stream(), threads=threads),
        lambda: align(runtime, stream(), threads=threads),
    ):
        read.clear()
        iterator = iter(make())
        for count in range(1, 40):
            next(iterator)
            assert len(read) <= count + 8 * (1 + 2 * threads)
        iterator.close()  # type: ignore[attr-defined]


def test_windows_hold_fewer_words_where_they_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "WINDOW_CELLS", 100)
    read = []

    def stream() -> Iterator[Encoded]:
        for k in range(100):
            read.append(k)
            yield random_pair(3, 1, seed=k)  # 5 symbols with begin and end

    answers = iter(answer(talkative(), stream(), Search()))
    next(answers)
    assert len(read) == 4
    assert len(list(answers)) == 99


class Spy:
    """Passes on everything to a runtime, and counts."""

    def __init__(self, runtime: Answering) -> None:
        self.runtime = runtime
        self.sizes: list[tuple[int, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runtime, name)

    def read(self, words: Words) -> Any:
        self.sizes.append(words.symbols.shape)
        return self.runtime.read(words)

    def follow(self, memory: Any, targets: Targets) -> Any:
        self.sizes.append(targets.symbols.shape)
        return self.runtime.follow(memory, targets)


def test_batches_are_bounded(words: list[Encoded]) -> None:
    for longest in (5, 50):
        spy = Spy(tiny_runtime())
        log_likelihoods(spy, random_pairs(30, longest=longest))  # type: ignore[arg-type]
        assert len(spy.sizes) > 5
        assert all(rows * columns <= 40 or rows == 1 for rows, columns in spy.sizes)
    spy = Spy(tiny_runtime())
    list(answer(spy, words, Search(beam=5)))  # type: ignore[arg-type]
    # A beam counts each symbol for every two hypotheses.
    assert all(3 * rows * columns <= 40 or rows == 1 for rows, columns in spy.sizes)


def test_large_alphabets_make_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH_CELLS", 10 * (len(TINY.target) - END))
    spy = Spy(tiny_runtime())
    log_likelihoods(spy, random_pairs(30))  # type: ignore[arg-type]
    assert all(rows * columns <= 10 or rows == 1 for rows, columns in spy.sizes)


def test_nothing_to_answer() -> None:
    runtime = tiny_runtime()
    for search in (*SEARCHES, Search(mass=0.5)):
        assert list(answer(runtime, [], search, threads=2)) == []
    assert predictions(runtime, []) == log_likelihoods(runtime, []) == []
    assert list(align(runtime, [])) == list(symbol_scores(runtime, [])) == []


def test_what_cannot_be_written_has_no_estimate() -> None:
    runtime, pair = tiny_runtime("hard-feed"), random_pair(4, 3)
    odd = replace(pair, target=[UNKNOWN, *pair.target])
    assert estimate(runtime, odd, 3, (0,)) == -math.inf
    assert -math.inf < estimate(runtime, pair, 3, (0,)) < 0
    assert estimate(runtime, pair, 600, (0,)) == estimate(runtime, pair, 600, (0,))


def test_noise_close_to_1_draws_what_is_possible() -> None:
    runtime, pair = tiny_runtime("hard-monotonic", dtype=np.float32), random_pair(4, 3)
    lattice = runtime.follow(runtime.read(Words.of([pair])), Targets.of([0], [pair.target]))
    almost = np.full((1, 4, 2), np.nextafter(1.0, 0.0))
    assert (lattice.samples(almost) == len(pair.source) - 1).all()
    assert (lattice.samples(np.zeros((1, 4, 2))) == 0).all()


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


def test_batches_run_side_by_side() -> None:
    """Two jobs that wait for each other: one after the other, neither would end."""
    both = threading.Barrier(2, timeout=30)
    assert len(list(in_order(lambda _: both.wait(), range(2), 2))) == 2


def test_jobs_that_nobody_waits_for_are_cancelled() -> None:
    started: list[int] = []
    gate = threading.Event()

    def work(job: int) -> int:
        started.append(job)
        return job if job == 0 or gate.wait(30) else -1

    results = in_order(work, range(100), 2)
    assert next(results) == 0
    threading.Timer(0.2, gate.set).start()
    results.close()  # type: ignore[attr-defined]
    assert len(started) <= 3  # the first, and two that had begun


@threads
def test_every_item_has_the_result_of_its_own_place(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [(k * 7) % 13 for k in range(50)]
    sizes = []

    def work(batch: list[int]) -> list[int]:
        sizes.append(sum(batch))
        return [-item for item in batch]

    monkeypatch.setattr(batches, "WINDOW", 12)
    model: Any = SimpleNamespace(symbols=batches.BATCH_CELLS // 20)
    results = in_batches(model, work, items, lambda item: item, threads=count)  # type: ignore[arg-type]
    assert list(results) == [-item for item in items]
    assert len(sizes) > 10
    assert max(sizes) <= 20


@threads
def test_batches_take_one_blas_thread_and_give_the_others_back(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    blas = ThreadpoolController().select(user_api="blas")

    def blas_threads() -> list[int]:
        return [library["num_threads"] for library in blas.info()]

    with blas.limit(limits=2):
        before = blas_threads()
        assert 2 in before
        for found in in_order(lambda _: blas_threads(), range(5), count):
            assert set(found) == {1}
        assert blas_threads() == before


def test_callers_in_several_threads_take_one_blas_thread_and_give_the_others_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whichever of them comes first, and whichever goes last."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    blas = ThreadpoolController().select(user_api="blas")

    def most() -> int:
        return max(library["num_threads"] for library in blas.info())

    def limited() -> int:
        with one_blas_thread:
            return most()

    with blas.limit(limits=2), ThreadPoolExecutor(1) as other:
        assert (most(), limited()) == (2, 1)
        assert other.submit(limited).result() == 1
        one_blas_thread.__enter__()
        other.submit(one_blas_thread.__enter__).result()
        one_blas_thread.__exit__()
        assert most() == 1
        other.submit(one_blas_thread.__exit__).result()
        assert most() == 2
