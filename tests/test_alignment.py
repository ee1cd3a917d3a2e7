from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardalign.alignment import Alignment


def alignment(columns: list[int], source: int, tags: int = 0) -> Alignment:
    """Every target symbol, and the end, from one column of begin, tags, source, end."""
    weights = np.eye(source + tags + 2)[[*columns, source + tags + 1]]
    letters = tuple("abcdefgh"[:source])
    return Alignment(letters, tuple("x" * len(columns)), ("T",) * tags, weights, "posterior")


def test_pairs_count_from_the_users_first_symbol() -> None:
    found = alignment([1, 3, 0, 5], source=4)
    assert found.pairs == [(0, 0), (2, 1)]
    assert found.best == [1, 3, 0, 5]
    assert alignment([1, 2, 3], source=3, tags=2).pairs == [(0, 2)]


def test_posterior_is_over_the_users_symbols() -> None:
    found = alignment([1, 2, 3], source=3, tags=1)
    assert found.posterior.shape == (3, 3)
    assert found.posterior.sum(1).tolist() == [0, 1, 1]


def test_entropy() -> None:
    weights = np.array([[0, 0.5, 0.5, 0], [0, 0.25, 0.75, 0], [0, 0, 0, 1.0]])
    found = Alignment(("a", "b"), ("x", "y"), (), weights, "posterior")
    assert found.entropy[0] == pytest.approx(math.log(2))
    expected = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert found.entropy[1] == pytest.approx(expected)
    assert alignment([1], source=2).entropy.tolist() == [0]


@given(st.lists(st.integers(1, 4), max_size=6))
def test_monotonic_means_that_no_two_edges_cross(columns: list[int]) -> None:
    crossing = any(a > b for k, a in enumerate(columns) for b in columns[k:])
    assert alignment(columns, source=4).is_monotonic() == (not crossing)


def test_edges_to_the_frame_do_not_count() -> None:
    assert alignment([2, 0, 3, 5, 4], source=4).is_monotonic()
    assert alignment([2, 1, 3], source=3, tags=1).is_monotonic()


def test_an_edge_needs_its_threshold() -> None:
    weights = np.array([[0, 0.08, 0.92, 0], [0, 0.92, 0.08, 0], [0, 0, 0, 1.0]])
    assert not Alignment(("a", "b"), ("x", "y"), (), weights, "posterior").is_monotonic()
    weights = np.array([[0, 0.95, 0.05, 0], [0, 0.05, 0.95, 0], [0, 0, 0, 1.0]])
    found = Alignment(("a", "b"), ("x", "y"), (), weights, "posterior")
    assert found.is_monotonic()
    assert not found.is_monotonic(threshold=0.01)


def test_shows_itself() -> None:
    lines = str(alignment([2, 1], source=2)).splitlines()
    assert lines == ["  ⊢  a  b  ⊣", "x       ██", "x    ██", "⊣          ██"]
