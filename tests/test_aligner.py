from __future__ import annotations

import math
import random
import tracemalloc
from collections.abc import Iterator
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardalign.aligner import (
    Floats,
    Pair,
    Path,
    UnsupervisedAligner,
    align,
    aligner_pair,
    batches,
    fit,
    oracle_actions,
    totals,
)
from hardalign.data.formats import Example
from hardalign.data.vocabulary import BEGIN, END, UNKNOWN, Encoded
from helpers import random_pair

S, T = 3, 4  # alphabet sizes of the random tests
source_strings = st.lists(st.integers(0, S - 1), max_size=4)
target_strings = st.lists(st.integers(0, T - 1), max_size=4)
corpora = st.lists(st.tuples(source_strings, target_strings), min_size=1, max_size=6)
seeds = st.integers(0, 1000)


def random_table(seed: int) -> Floats:
    weights = np.exp(np.random.default_rng(seed).normal(size=(S + 1, T + 1)))
    weights[0, 0] = 0
    with np.errstate(divide="ignore"):
        return np.log(weights / weights.sum())


def paths(j: int, i: int) -> Iterator[Path]:
    """Every path of a source of length j and a target of length i."""
    if j == i == 0:
        yield []
    if j and i:
        yield from ([*path, (j - 1, i - 1)] for path in paths(j - 1, i - 1))
    if j:
        yield from ([*path, (j - 1, None)] for path in paths(j - 1, i))
    if i:
        yield from ([*path, (None, i - 1)] for path in paths(j, i - 1))


def operations(pair: Pair, path: Path) -> list[tuple[int, int]]:
    """The table cells that a path uses."""
    x, y = pair
    return [(0 if j is None else x[j] + 1, 0 if i is None else y[i] + 1) for j, i in path]


def score(table: Floats, pair: Pair, path: Path) -> float:
    return math.fsum(table[cell].item() for cell in operations(pair, path))


def enumerate_pair(table: Floats, pair: Pair) -> list[tuple[Path, float]]:
    return [(p, score(table, pair, p)) for p in paths(len(pair[0]), len(pair[1]))]


def brute_log_likelihood(table: Floats, pair: Pair) -> float:
    return math.log(math.fsum(math.exp(s) for _, s in enumerate_pair(table, pair)))


def log_likelihood(table: Floats, pairs: list[Pair]) -> list[float]:
    """log p(x, y) of each pair, summed over all paths as EM does."""
    values = [0.0] * len(pairs)
    for places, cells in batches(pairs, table.shape):
        sums = totals(table.ravel()[cells], np.logaddexp)[-1, -1]
        for place, value in zip(places, sums.tolist(), strict=True):
            values[place] = value
    return values


def brute_em_step(table: Floats, pairs: list[Pair], smoothing: float) -> Floats:
    weights = np.full_like(table, smoothing)
    for pair in pairs:
        total = brute_log_likelihood(table, pair)
        for path, value in enumerate_pair(table, pair):
            for cell in operations(pair, path):
                weights[cell] += math.exp(value - total)
    weights[0, 0] = 0
    with np.errstate(divide="ignore"):
        return np.log(weights / weights.sum())


@settings(deadline=None)
@given(seeds, corpora)
def test_log_likelihood_sums_over_all_paths(seed: int, pairs: list[Pair]) -> None:
    table = random_table(seed)
    expected = [brute_log_likelihood(table, pair) for pair in pairs]
    assert log_likelihood(table, pairs) == pytest.approx(expected, rel=0, abs=1e-10)


@settings(deadline=None)
@given(seeds, corpora)
def test_align_finds_the_best_of_all_paths(seed: int, pairs: list[Pair]) -> None:
    table = random_table(seed)
    for pair, path in zip(pairs, align(table, pairs), strict=True):
        assert path in list(paths(len(pair[0]), len(pair[1])))
        best = max(value for _, value in enumerate_pair(table, pair))
        assert score(table, pair, path) == pytest.approx(best, rel=0, abs=1e-7)


@settings(deadline=None, max_examples=25)
@given(corpora, st.integers(0, 2))
def test_an_em_step_counts_over_all_paths(pairs: list[Pair], done: int) -> None:
    before = fit(pairs, S, T, iterations=done, smoothing=0.3)
    after = fit(pairs, S, T, iterations=done + 1, smoothing=0.3)
    np.testing.assert_allclose(after, brute_em_step(before, pairs, 0.3), rtol=0, atol=1e-10)


@settings(deadline=None, max_examples=25)
@given(corpora)
def test_em_never_lowers_its_objective(pairs: list[Pair]) -> None:
    """What EM climbs is the likelihood times the prior that the pseudo-counts amount to."""
    smoothing = 0.1

    def objective(table: Floats) -> float:
        prior = table.flatten()[1:].sum().item()
        return sum(log_likelihood(table, pairs)) + smoothing * prior

    values = [objective(fit(pairs, S, T, iterations=n, smoothing=smoothing)) for n in range(1, 6)]
    assert all(a <= b + 1e-9 for a, b in pairwise(values))


@settings(deadline=None)
@given(seeds, corpora)
def test_a_pair_does_not_depend_on_its_batch_mates(seed: int, pairs: list[Pair]) -> None:
    table = random_table(seed)
    longer: Pair = ([0, 1, 2] * 4, [3, 2, 1, 0] * 4)
    alone = [align(table, [pair])[0] for pair in pairs]
    assert align(table, [longer, *pairs])[1:] == alone
    values = [log_likelihood(table, [pair])[0] for pair in pairs]
    together = log_likelihood(table, [longer, *pairs])[1:]
    assert together == pytest.approx(values, rel=0, abs=1e-12)


def test_batches_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(0)

    def string(alphabet: int) -> list[int]:
        return generator.choices(range(alphabet), k=generator.randrange(9))

    pairs: list[Pair] = [(string(S), string(T)) for _ in range(50)]
    table, whole = fit(pairs, S, T), align(random_table(1), pairs)
    monkeypatch.setattr("hardalign.aligner.BATCH_CELLS", 150)
    parts = list(batches(pairs, table.shape))
    assert len(parts) > 10
    for places, cells in parts:
        assert cells.size <= 150
        for place in places:
            assert cells.shape == (*(len(side) + 1 for side in pairs[place]), len(places))
    assert sorted(place for places, _ in parts for place in places) == list(range(50))
    np.testing.assert_allclose(fit(pairs, S, T), table, rtol=0, atol=1e-12)
    assert align(random_table(1), pairs) == whole


def test_identity_aligns_on_the_diagonal() -> None:
    words = [[0, 1, 2], [2, 0], [1, 1, 0, 2], [0, 0, 0], [2]]
    pairs: list[Pair] = [(word, word) for word in words]
    expected = [[(k, k) for k in range(len(word))] for word in words]
    assert align(fit(pairs, 3, 3), pairs) == expected
    # One symbol only: gaps are as many as the pairs, and nothing else tells them apart.
    assert align(fit([([0] * 5, [0] * 5)], 1, 1), [([0] * 3, [0] * 3)]) == [expected[3]]


def test_ties_pair_symbols_as_early_as_possible() -> None:
    table = fit([([0, 1], [0, 1]), ([0, 1, 1], [0, 1]), ([0, 1], [0, 1, 1])], 2, 2)
    assert align(table, [([1] * 7, [1])]) == [[(0, 0), *((j, None) for j in range(1, 7))]]
    assert align(table, [([1], [1] * 7)]) == [[(0, 0), *((None, i) for i in range(1, 7))]]


def test_deletions_come_before_insertions() -> None:
    table = [[-math.inf, -1.0], [-1.0, -9.0]]
    assert align(table, [([0, 0], [0])]) == [[(0, None), (1, None), (None, 0)]]


def test_fit_is_deterministic() -> None:
    pairs: list[Pair] = [([0, 1, 2, 1], [1, 3]), ([2, 2], [0, 1, 2]), ([], [1])]
    assert np.array_equal(fit(pairs, S, T), fit(pairs, S, T))


def test_unknown_symbols_can_be_aligned() -> None:
    table = fit([([0, 1], [0, 1]), ([1, 0, 1], [1, 0, 1])], 3, 3)  # id 2 never occurs
    assert np.isfinite(table.flatten()[1:]).all()
    assert align(table, [([0, 2, 1], [0, 2, 1])]) == [[(0, 0), (1, 1), (2, 2)]]


def test_empty_strings_and_no_pairs() -> None:
    table = fit([([], []), ([0], []), ([], [1, 0])], S, T)
    assert align(table, [([], []), ([0, 1], [])]) == [[], [(0, None), (1, None)]]
    assert align(table, [([], [2])]) == [[(None, 0)]]
    assert log_likelihood(table, [([], [])]) == [0.0]
    assert align(table, []) == log_likelihood(table, []) == []
    assert np.exp(fit([], S, T)).sum() == pytest.approx(1)
    assert fit([([], [])], 0, 0).shape == (1, 1)


def test_a_stored_table_works_in_single_precision_and_without_its_infinity() -> None:
    pairs: list[Pair] = [([0, 1, 2], [1, 2, 3]), ([2, 1], [3, 2])]
    table = fit(pairs, S, T)
    stored = table.astype(np.float32)
    stored[0, 0] = 0
    assert (
        align(stored, pairs) == align(table, pairs) == [[(0, 0), (1, 1), (2, 2)], [(0, 0), (1, 1)]]
    )


def test_long_strings_stay_finite() -> None:
    pairs: list[Pair] = [([0, 1, 2] * 100, [0, 1, 2, 3] * 75)]
    table = fit(pairs, S, T, iterations=3)
    assert np.isfinite(table.flatten()[1:]).all()
    assert math.isfinite(log_likelihood(table, pairs)[0])
    assert {j for j, _ in align(table, pairs)[0]} >= set(range(300))


def test_scores_too_large_for_exact_sums_still_give_a_path() -> None:
    """As a damaged model folder may have them."""
    for seed in range(20):
        table = np.random.default_rng(seed).normal(size=(S + 1, T + 1)) * 1e38
        assert align(table, [([0, 1, 2, 0], [3, 1, 2])])[0] in list(paths(4, 3))


def test_misuse_is_an_error() -> None:
    with pytest.raises(ValueError, match="ids must be from 0 to 2"):
        fit([([3], [0])], S, T)
    with pytest.raises(ValueError, match="ids must be from 0 to 3"):
        align(random_table(0), [([0], [-1])])
    with pytest.raises(ValueError, match="smoothing must be above 0"):
        fit([], S, T, smoothing=0)


def test_large_alphabets_cost_what_occurs_of_them() -> None:
    """The table is made once, at the end; no step of EM has arrays of its size."""
    size = 1000
    pairs: list[Pair] = [([k, k + 1], [k]) for k in range(0, 900, 9)]
    fit(pairs, size, size, iterations=1)
    tracemalloc.start()
    try:
        table = fit(pairs, size, size)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * table.nbytes
    assert np.exp(table).sum() == pytest.approx(1)


STEP = 99


@st.composite
def oracle_paths(draw: st.DrawFn) -> Path:
    """Any alignment of any two strings."""
    path: Path = []
    j = i = 0
    for kind in draw(st.lists(st.sampled_from(["substitute", "delete", "insert"]), max_size=12)):
        path.append((None if kind == "insert" else j, None if kind == "delete" else i))
        j, i = j + (kind != "insert"), i + (kind != "delete")
    return path


def follow(actions: list[int]) -> tuple[list[int], list[int]]:
    """What actions write, the end included, and the pointer at each write: the plain loop."""
    written, positions, pointer = [], [], 0
    for action in actions:
        if action == STEP:
            pointer += 1
        else:
            written.append(action)
            positions.append(pointer)
    return written, positions


@given(oracle_paths())
def test_actions_write_the_target(path: Path) -> None:
    letters = sum(j is not None for j, _ in path)
    target = [10 + i for _, i in path if i is not None]
    actions = oracle_actions(path, target, STEP)
    written, positions = follow(actions)
    assert written == [*target, END]
    assert positions == sorted(positions)
    assert positions[-1] == letters + 1  # the end is at the end symbol, and no step goes past it
    assert len(actions) == letters + 1 + len(target) + 1
    # Letter j, counted from 0, is at position j + 1; an insertion is where the last letter was.
    reached = accumulate((0 if j is None else j + 1 for j, _ in path), max)
    expected = [place for place, (_, i) in zip(reached, path, strict=True) if i is not None]
    assert positions[:-1] == expected


def test_a_prefix_is_written_before_the_first_step() -> None:
    path: Path = [(None, 0), (0, 1), (1, None), (None, 2), (2, 3)]
    assert oracle_actions(path, [5, 6, 7, 8], STEP) == [5, STEP, 6, STEP, 7, STEP, 8, STEP, END]


def test_nothing_to_nothing() -> None:
    assert oracle_actions([], [], STEP) == [STEP, END]


def test_the_aligners_numbers_leave_out_tags_and_count_from_1() -> None:
    pair = Encoded([BEGIN, 8, 9, 4, UNKNOWN, 6, END], 2, [5, UNKNOWN, END])
    assert aligner_pair(pair) == ([1, 0, 3], [2, 0])
    source, target = aligner_pair(random_pair(5, 3, tags=1))
    assert (len(source), len(target)) == (5, 3)
    assert min(source + target) >= 1


def pair(source: str, target: str, tags: str = "") -> Example:
    return Example(tuple(source), (tuple(target),), tuple(tags.split()))


PAIRS = [pair("abc", "ABC"), pair("cab", "CAB"), pair("ahb", "AB"), pair("bha", "BA")]


def test_finds_what_goes_together() -> None:
    alignments = list(UnsupervisedAligner(PAIRS).align(PAIRS))
    assert [links.pairs for links in alignments] == [
        [(0, 0), (1, 1), (2, 2)],
        [(0, 0), (1, 1), (2, 2)],
        [(0, 0), (2, 1)],
        [(0, 0), (2, 1)],
    ]
    assert (alignments[2].source, alignments[2].target) == (tuple("ahb"), tuple("AB"))


def test_tags_are_left_out() -> None:
    (links,) = UnsupervisedAligner(PAIRS).align([pair("ab", "AB", tags="N PL")])
    assert links.tags == ("N", "PL")
    assert links.columns == [3, 4]


def test_symbols_it_has_never_seen() -> None:
    (links,) = UnsupervisedAligner(PAIRS).align([pair("aqb", "AQB")])
    assert links.pairs == [(0, 0), (1, 1), (2, 2)]


def test_what_comes_from_nothing() -> None:
    (links,) = UnsupervisedAligner(PAIRS).align([pair("a", "ABC")])
    assert links.columns.count(None) == 2
    assert links.pairs == [(0, 0)]


def test_more_pairs_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardalign.aligner.BLOCK", 3)
    aligner = UnsupervisedAligner(PAIRS)
    assert list(aligner.align(PAIRS * 2)) == list(aligner.align(PAIRS)) * 2
    assert list(aligner.align([])) == []
