from __future__ import annotations

import math

import numpy as np
import pytest

from accuracy.tiny import tiny
from conftest import random_pair
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import END
from hardalign.decoding import Search, answer, log_likelihoods
from hardalign.metrics import calibration_error
from hardalign.runtime.ensemble import Ensemble
from hardalign.runtime.tempered import Tempered
from hardalign.training.calibration import fit_temperature


def drawn(runtime, words=400):
    """Pairs whose targets a model has drawn itself."""
    sources = [random_pair(1 + k % 4, 0, seed=k) for k in range(words)]
    answers = answer(runtime, sources, Search(samples=1))
    return [
        Encoded(source.source, source.tags, [*one.hypothesis.symbols, END])
        for source, (one,) in zip(sources, answers, strict=True)
        if one.hypothesis.finished
    ]


@pytest.mark.parametrize("system", ["hard", "hard-monotonic", "soft-feed"])
@pytest.mark.parametrize("temperature", [0.6, 1.0, 2.0])
def test_the_temperature_of_data_is_found(system, temperature):
    runtime = tiny(system, seed=1)
    pairs = drawn(Tempered(runtime, temperature))
    assert len(pairs) > 390  # those that the length limit cuts off would bias what is found
    assert fit_temperature(runtime, pairs) == pytest.approx(temperature, rel=0.15)


@pytest.mark.parametrize("members", [1, 2])
def test_no_other_temperature_makes_the_pairs_more_probable(members):
    runtime = tiny(seed=1) if members == 1 else Ensemble([tiny("hard", k) for k in (1, 2)])
    pairs = drawn(Tempered(runtime, 1.6), words=40)
    fitted = fit_temperature(runtime, pairs)
    best = sum(log_likelihoods(Tempered(runtime, fitted), pairs))
    for other in (fitted * 0.98, fitted * 1.02, 1.0, 0.3, 4.0):
        assert sum(log_likelihoods(Tempered(runtime, other), pairs)) <= best + 1e-6


def test_without_pairs_the_temperature_is_1():
    assert fit_temperature(tiny(), []) == 1


def test_the_calibration_error_of_figures_made_by_hand():
    assert calibration_error([0.95] * 4, [True, True, True, False]) == pytest.approx(0.2)
    # Two bins, |0.05 - 0| and |1 - 0.75|, of 3 and 1 words; certainty belongs to the last bin.
    confidences = [0.05, 0.04, 0.06, 0.75]
    error = calibration_error(confidences, [False, False, False, True])
    assert error == pytest.approx(0.75 * 0.05 + 0.25 * 0.25)
    assert calibration_error([1.0], [True]) == 0


def test_the_calibration_error_is_that_of_a_plain_histogram():
    draw = np.random.default_rng(0)
    confidences = draw.random(500)
    right = draw.random(500) < confidences**2
    expected = 0.0
    for k in range(10):
        chosen = (confidences >= k / 10) & (confidences < (k + 1) / 10)
        gap = abs(right[chosen].mean() - confidences[chosen].mean())
        expected += chosen.mean() * gap
    assert math.isclose(calibration_error(confidences.tolist(), right.tolist()), expected)
