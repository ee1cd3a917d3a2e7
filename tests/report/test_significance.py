from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardalign.report.significance import DRAWS, Floats, compare, compare_seeds, holm

THIRDS = [-1, -2 / 3, -1 / 3, 0, 1 / 3, 2 / 3, 1]
"""What items differ by where two systems have three seeds each."""
SETS = st.lists(st.lists(st.sampled_from(THIRDS), min_size=1, max_size=5), min_size=1, max_size=2)


def enumerated(sets: list[list[float]]) -> float:
    """The p of the test: over all choices of signs, the share that are as large as observed."""

    def statistic(signs: tuple[int, ...]) -> float:
        left = iter(signs)
        return abs(sum(sum(next(left) * d for d in one) / len(one) for one in sets) / len(sets))

    items = sum(map(len, sets))
    observed = statistic((1,) * items)
    choices = list(product((1, -1), repeat=items))
    return sum(statistic(signs) >= observed - 1e-9 for signs in choices) / len(choices)


def arrays(sets: list[list[float]]) -> list[Floats]:
    return [np.array(one, dtype=np.float64) for one in sets]


@given(SETS)
def test_p_is_that_of_all_sign_flips(sets: list[list[float]]) -> None:
    exact = enumerated(sets)
    error = np.sqrt(exact * (1 - exact) / DRAWS)
    assert compare(arrays(sets)).p == pytest.approx(exact, abs=5 * error + 2 / DRAWS)


def test_p_is_that_of_the_sign_test_for_single_runs() -> None:
    """With one run each, only the items that one alone had right count: a binomial."""
    wins, losses, ties = 30, 14, 500
    exact = 2 * sum(comb(wins + losses, k) for k in range(losses + 1)) / 2 ** (wins + losses)
    found = compare(arrays([[1] * wins + [-1] * losses + [0] * ties]))
    assert found.p == pytest.approx(exact, abs=5 * np.sqrt(exact / DRAWS))
    assert found.difference == pytest.approx((wins - losses) / (wins + losses + ties))


@given(SETS)
def test_the_order_of_the_systems_does_not_matter(sets: list[list[float]]) -> None:
    found, mirrored = compare(arrays(sets)), compare([-one for one in arrays(sets)])
    assert found.p == mirrored.p
    assert found.difference == -mirrored.difference
    assert found.low <= found.difference + 1e-9
    assert found.high >= found.difference - 1e-9


def test_interval_is_that_of_all_resamples() -> None:
    items = [1.0, 1.0, 0.0, 0.0, -1.0, 1.0]
    means = [sum(drawn) / len(items) for drawn in product(items, repeat=len(items))]
    found = compare(arrays([items]))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


def test_data_sets_count_the_same_whatever_their_size() -> None:
    found = compare(arrays([[1.0], [0.0] * 99]))
    assert found.difference == 0.5
    assert (found.data_sets, found.items) == (2, 100)


def test_alike() -> None:
    found = compare(arrays([[0.0, 0.0, 0.0]]))
    assert (found.p, found.low, found.high) == (1.0, 0.0, 0.0)


def test_repeatable() -> None:
    sets = arrays([[1.0, 0.0, -1.0, 1.0, 1.0]])
    assert compare(sets) == compare(sets)


@pytest.mark.parametrize("sets", [[], [[1.0], []]])
def test_nothing_to_compare(sets: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="nothing to compare"):
        compare(arrays(sets))


def students_p(t: float, freedom: float) -> float:
    """The two-sided p of Student's t, by summing its density."""
    grid = np.linspace(-200, 200, 2_000_001)
    density = (1 + grid**2 / freedom) ** (-(freedom + 1) / 2)
    return float(density[np.abs(grid) >= abs(t)].sum() / density.sum())


@pytest.mark.parametrize(
    ("first", "second"),
    [([71.0, 72.5, 70.9], [70.0, 69.1, 70.2]), ([60.0, 80.0], [50.0, 51.0, 55.0, 58.0])],
)
def test_seeds_are_compared_by_welch(first: list[float], second: list[float]) -> None:
    parts = [np.var(runs, ddof=1) / len(runs) for runs in (first, second)]
    t = (np.mean(first) - np.mean(second)) / np.sqrt(sum(parts))
    shares = [part**2 / (len(r) - 1) for part, r in zip(parts, (first, second), strict=True)]
    exact = students_p(float(t), sum(parts) ** 2 / sum(shares))
    found = compare_seeds([(first, second)])
    assert found.p == pytest.approx(exact, abs=5 * np.sqrt(exact / DRAWS) + 0.002)
    assert found.difference == pytest.approx(np.mean(first) - np.mean(second))
    mirrored = compare_seeds([(second, first)])
    assert (mirrored.p, mirrored.difference) == (found.p, -found.difference)


def test_seeds_of_several_data_sets_count_together() -> None:
    """The same doubtful difference four times is a certain one."""
    doubtful = [70.0, 72.0, 71.0], [69.0, 71.0, 70.0]
    alone, together = compare_seeds([doubtful]), compare_seeds([doubtful] * 4)
    assert alone.difference == pytest.approx(together.difference) == pytest.approx(1)
    assert alone.p > 0.2 > 0.05 > together.p


def test_seeds_without_variance() -> None:
    assert compare_seeds([([70.0, 70.0], [70.0, 70.0])]).p == 1
    assert compare_seeds([([71.0, 71.0], [70.0, 70.0])]).p == 1 / (1 + DRAWS)


@given(st.lists(st.floats(0, 1), max_size=6))
def test_holm_is_the_textbook_procedure(values: list[float]) -> None:
    """Reject from the smallest on, while p is below the level / the number of those left."""
    adjusted = holm(dict(enumerate(values)))
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        order = sorted(range(len(values)), key=lambda index: values[index])
        for left, index in zip(range(len(values), 0, -1), order, strict=True):
            if values[index] * left >= level:
                break
            rejected.add(index)
        assert {index for index, p in adjusted.items() if p < level} == rejected
