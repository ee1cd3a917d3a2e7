from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from hardalign.batches import Batch, log_likelihoods
from hardalign.data.vocabulary import END, Encoded
from hardalign.metrics import calibration_error
from hardalign.search import Search, find_strings, predictions
from hardalign.systems import ensemble as calibration
from hardalign.systems.ensemble import Ensemble, fit_temperature
from helpers import TINY, random_pair, tiny_runtime


class Development(NamedTuple):
    words: list
    pairs: list


def drawn(runtime, words=400):
    """A development set whose targets a model has drawn itself."""
    sources = [random_pair(1 + k % 4, 0, seed=k) for k in range(words)]
    pairs, items = [], []
    drawn = find_strings(Batch(runtime, sources), Search(samples=1))
    for source, (one,) in zip(sources, drawn, strict=True):
        symbols = one.symbols
        items.append((source, (TINY.target.decode(symbols),)))
        if one.finished:
            pairs.append(Encoded(source.source, source.tags, [*symbols, END]))
    return Development(items, pairs)


def fit(runtime, development):
    answers, right = [], []
    found = predictions(runtime, [source for source, _ in development.words])
    for (source, references), best in zip(development.words, found, strict=True):
        if best.finished:
            answers.append(replace(source, target=[*best.symbols, END]))
            right.append(TINY.target.decode(best.symbols) in references)
    return fit_temperature(runtime, answers, right, development.pairs)


def judged(runtime, development):
    """How well the probabilities of the model's answers tell which of them are right."""
    scores = []
    answers = predictions(runtime, [source for source, _ in development.words])
    for (source, references), best in zip(development.words, answers, strict=True):
        p = math.exp(log_likelihoods(runtime, [replace(source, target=[*best.symbols, END])])[0])
        right = TINY.target.decode(best.symbols) in references
        scores.append(math.log(p if right else 1 - p))
    return math.fsum(scores)


def test_one_impossible_step_is_enough_to_leave_the_temperature_at_1(monkeypatch):
    steps = np.array([[-0.5, -0.5], [0.0, -np.inf]]), np.array([0, 1]), np.array([0, 1])
    monkeypatch.setattr(calibration, "_steps", lambda *_: steps)
    assert calibration._fit(None, [None, None], np.sum) == 1


@pytest.mark.parametrize("system", ["hard", "hard-monotonic", "soft-feed"])
@pytest.mark.parametrize("temperature", [0.6, 1.0, 2.0])
def test_the_temperature_of_data_is_found(system, temperature, monkeypatch):
    runtime = tiny_runtime(system, seed=1, scale=2.0)
    development = drawn(Ensemble([runtime], temperature))
    assert len(development.pairs) > 390  # what the length limit cuts off would bias what is found
    assert fit(runtime, development) == pytest.approx(temperature, rel=0.25)  # one bit a word
    monkeypatch.setattr(calibration, "FEW", 401)  # by likelihood
    assert fit(runtime, development) == pytest.approx(temperature, rel=0.15)


@pytest.mark.parametrize("members", [1, 2])
def test_no_other_temperature_is_better(members, monkeypatch):
    runtime = (
        tiny_runtime(seed=1, scale=2.0)
        if members == 1
        else Ensemble([tiny_runtime(seed=k, scale=2.0) for k in (1, 2)])
    )
    development = drawn(Ensemble([runtime], 0.7), words=120)
    monkeypatch.setattr(calibration, "FEW", 1)
    by_answers = fit(runtime, development)
    monkeypatch.setattr(calibration, "FEW", 121)
    by_likelihood = fit(runtime, development)
    assert by_answers != by_likelihood
    for fitted, score in (
        (by_answers, lambda model: judged(model, development)),
        (by_likelihood, lambda model: sum(log_likelihoods(model, development.pairs))),
    ):
        best = score(Ensemble([runtime], fitted))
        for other in (fitted * 0.98, fitted * 1.02, 1.0, 0.3, 4.0):
            assert score(Ensemble([runtime], other)) <= best + 1e-6


def test_where_all_answers_are_right_the_likelihood_decides():
    runtime = tiny_runtime(seed=1, scale=2.0)
    sources = [random_pair(2, 0, seed=k) for k in range(30)]
    best = predictions(runtime, sources)
    references = [(TINY.target.decode(one.symbols),) for one in best]
    words = list(zip(sources, references, strict=True))
    assert fit(runtime, Development(words, [])) == 1  # there are no pairs
    pairs = drawn(Ensemble([runtime], 2.0)).pairs
    assert fit(runtime, Development(words, pairs)) == pytest.approx(2, rel=0.15)


def test_without_pairs_the_temperature_is_1():
    assert fit(tiny_runtime(), Development([], [])) == 1


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
