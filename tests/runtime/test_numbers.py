from __future__ import annotations

import math

import numpy as np
import pytest

from hardalign.runtime.numbers import log_softmax, logsumexp, sigmoid_, tanh_

VALUES = np.concatenate([np.linspace(-20, 20, 401), [-1e4, -800.0, -1e-9, 0.0, 1e-9, 800.0, 1e4]])


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-15), (np.float32, 2e-7)])
def test_elementary_functions(dtype: type, atol: float) -> None:
    values = VALUES.astype(dtype)
    with np.errstate(all="ignore"):
        sigmoid, tanh = sigmoid_(values.copy()), tanh_(values.copy())
    exact = [1 / (1 + math.exp(-x)) if x > -700 else 0.0 for x in values.tolist()]
    np.testing.assert_allclose(sigmoid, exact, rtol=0, atol=atol)
    np.testing.assert_allclose(tanh, [math.tanh(x) for x in values.tolist()], rtol=0, atol=atol)
    assert sigmoid.dtype == tanh.dtype == dtype


def test_they_work_in_place() -> None:
    values = np.ones(3)
    assert sigmoid_(values) is values
    assert tanh_(values) is values


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
