from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardalign.metrics import DRAWS, Floats, compare, holm
from results import wilcoxon

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


@given(st.lists(st.sampled_from([-3, -2, -1, 0, 0.5, 1, 2, 2.5]), min_size=1, max_size=9))
def test_wilcoxon_is_that_of_all_signs(values: list[float]) -> None:
    sizes = [abs(value) for value in values if value]
    ranks = [sum(b < a for b in sizes) + (sum(b == a for b in sizes) + 1) / 2 for a in sizes]

    def statistic(signs: Iterable[float]) -> float:
        return abs(sum(r if sign > 0 else -r for r, sign in zip(ranks, signs, strict=True)))

    observed = statistic([value for value in values if value])
    choices = list(product((1, -1), repeat=len(sizes)))
    exact = sum(statistic(signs) >= observed - 1e-9 for signs in choices) / len(choices)
    assert wilcoxon(values) == pytest.approx(exact)


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
