from __future__ import annotations

import numpy as np
import pytest

from hardalign.systems.lattice import quiet
from hardalign.systems.ops.numpy import log_softmax, logsumexp, rows_of


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sums_in_log_space(axis: int) -> None:
    x = np.random.default_rng(0).normal(0, 5, (4, 3)) + 1000.0
    expected = np.log(np.exp(x - 1000).sum(axis)) + 1000
    np.testing.assert_allclose(logsumexp(x, axis), expected)
    np.testing.assert_allclose(np.exp(log_softmax(x, axis)).sum(axis), 1.0)
    np.testing.assert_allclose(log_softmax(x, axis), x - np.expand_dims(expected, axis))


def test_nothing_sums_to_nothing() -> None:
    x = np.array([[-np.inf, -np.inf], [-np.inf, 3.0]])
    with np.errstate(all="ignore"):
        assert logsumexp(x).tolist() == [-np.inf, 3.0]
        assert log_softmax(x[1:]).tolist() == [[-np.inf, 0.0]]


def test_rows_of_a_table_are_the_table_itself_where_they_are_all_of_it() -> None:
    table = np.arange(6.0).reshape(3, 2)
    assert rows_of(table, np.arange(3)) is table

    for rows in ([2, 1, 0], [0, 1], [0, 1, 1], [2]):
        np.testing.assert_array_equal(rows_of(table, np.array(rows)), table[rows])


def test_what_is_quiet_says_nothing() -> None:
    """Warnings are errors in these tests."""
    infinite = np.full(3, np.inf, np.float32)
    with pytest.raises(RuntimeWarning):
        infinite - infinite
    assert np.isnan(quiet(np.subtract)(infinite, infinite)).all()
