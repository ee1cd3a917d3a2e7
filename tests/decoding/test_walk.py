from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from decoding.exhaustive import distribution
from decoding.helpers import WORDS, Scripted, greedily, noisy, numbers, sources, strings
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, END
from hardalign.decoding import LENGTH_LIMIT, Hypothesis, log_likelihoods
from hardalign.decoding.walk import sample, uniform_noise
from hardalign.runtime import Runtime, Words
from hardalign.runtime.numbers import Floats
from hardalign.systems import SYSTEMS
from helpers import random_pair, tiny_runtime, tiny_vocabulary

systems = pytest.mark.parametrize("system", SYSTEMS)


def test_each_word_is_cut_at_its_own_end() -> None:
    scripts = ["xyz", "", "x", "zzyx"]
    found = greedily(Scripted(scripts), sources([3, 1, 2, 5]))
    assert [hypothesis.symbols for hypothesis in found] == [numbers(word) for word in scripts]
    assert all(hypothesis.finished for hypothesis in found)
    for row, (word, hypothesis) in enumerate(zip(scripts, found, strict=True)):
        steps = len(word) + 1
        assert hypothesis.log_prob == pytest.approx((-0.5 - row) * steps)
        assert (hypothesis.alpha == np.eye(7)[:steps]).all()


def test_finished_words_leave_the_batch() -> None:
    model = Scripted(["xyz", "", "x", "zzyx"])
    greedily(model, sources([3, 1, 2, 5]))
    assert model.batch_sizes == [4, 3, 2, 2, 1]


def test_the_model_is_told_what_was_chosen() -> None:
    model = Scripted(["xyz", "", "x"])
    greedily(model, sources([3, 1, 2]))
    assert model.previous == [[BEGIN, *numbers("xyz")], [BEGIN], [BEGIN, *numbers("x")]]


def test_the_length_limit_is_each_words_own_and_reported() -> None:
    endless, empty, finished = greedily(Scripted([None, None, "xy"]), sources([1, 0, 3]))
    assert endless.symbols == numbers("x") * (LENGTH_LIMIT * 3)
    assert empty.symbols == numbers("x") * (LENGTH_LIMIT * 2)
    assert not endless.finished
    assert not empty.finished
    assert endless.alpha.shape == (LENGTH_LIMIT * 3, 5)
    assert finished.finished
    assert finished.symbols == numbers("xy")


@pytest.mark.parametrize(("letters", "finished"), [(-1, True), (0, False), (1, False)])
def test_an_end_just_before_the_limit_counts(letters: int, finished: bool) -> None:
    limit = LENGTH_LIMIT * 4
    word = "z" * (limit + letters)
    (hypothesis,) = greedily(Scripted([word]), sources([2]))
    assert hypothesis.finished == finished
    assert hypothesis.symbols == numbers(word)[:limit]
    assert hypothesis.alpha.shape == (limit, 4)


def step_by_step(
    runtime: Runtime[Any, Any], pair: Encoded
) -> tuple[list[int], float, bool, Floats]:
    """Greedy search for one word, with nothing clever about it."""
    state, symbol = runtime.start(runtime.read(Words.of([pair]))), BEGIN
    symbols: list[int] = []
    total, rows = 0.0, []
    while len(symbols) < LENGTH_LIMIT * len(pair.source):
        step = runtime.step(state, np.array([0]), np.array([symbol]))
        state = step.state
        symbol = int(step.log_probs[0].argmax()) + END
        total += float(step.log_probs[0].max())
        if symbol == runtime.silent:
            continue
        rows.append(step.alpha[0])
        if symbol == END:
            return symbols, total, True, np.stack(rows)
        symbols.append(symbol)
    return symbols, total, False, np.stack(rows)


@systems
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-4), (np.float64, 1e-10)])
def test_equals_a_search_for_one_word_at_a_time(system: str, dtype: type, tolerance: float) -> None:
    lengths = set()
    for seed in range(3):
        runtime = tiny_runtime(system, seed=seed, dtype=dtype, end=1.0)
        for hypothesis, pair in zip(greedily(runtime, WORDS), WORDS, strict=True):
            symbols, log_prob, finished, alpha = step_by_step(runtime, pair)
            assert hypothesis.symbols == symbols
            assert hypothesis.finished == finished
            assert hypothesis.log_prob == pytest.approx(log_prob, rel=0, abs=tolerance)
            looked = hypothesis.alpha[:, : len(pair.source)]
            np.testing.assert_allclose(looked, alpha, rtol=0, atol=tolerance)
            lengths.add((len(symbols), finished))
    assert len(lengths) > 3  # or the test would prove little


@pytest.mark.parametrize("system", [k for k, v in SYSTEMS.items() if v.score != "best path"])
def test_log_prob_is_the_log_likelihood_of_the_string(system: str) -> None:
    pairs, scores = [], []
    runtime = tiny_runtime(system, dtype=np.float32, seed=1, scale=2.0, end=6.0)
    for pair, hypothesis in zip(WORDS, greedily(runtime, WORDS), strict=True):
        if hypothesis.finished:
            pairs.append(Encoded(pair.source, pair.tags, [*hypothesis.symbols, END]))
            scores.append(hypothesis.log_prob)
    assert len(scores) > 5
    assert scores == pytest.approx(log_likelihoods(runtime, pairs), abs=1e-4)


@systems
def test_a_model_that_never_ends_stops_at_the_limit(system: str) -> None:
    runtime = tiny_runtime(system, dtype=np.float32, end=-1e6)
    for hypothesis, pair in zip(greedily(runtime, WORDS), WORDS, strict=True):
        assert len(hypothesis.symbols) == LENGTH_LIMIT * len(pair.source)
        assert not hypothesis.finished
        assert np.isfinite(hypothesis.log_prob)


@systems
def test_a_model_may_have_nothing_to_say(system: str) -> None:
    runtime = tiny_runtime(system, dtype=np.float32, end=1e6)
    for hypothesis in greedily(runtime, WORDS):
        assert hypothesis.symbols == []
        assert hypothesis.finished
        assert hypothesis.alpha.shape[0] == 1


def draw(
    runtime: Runtime[Any, Any], pairs: Sequence[Encoded], seed: int = 0, words: Words | None = None
) -> list[Hypothesis]:
    words = words or Words.of(pairs)
    noise = uniform_noise([(seed, k) for k in range(len(pairs))], words.lengths.tolist())
    return sample(runtime, runtime.read(words), words, np.arange(len(pairs)), noise)


@systems
def test_samples_follow_the_distribution(system: str) -> None:
    vocabulary = tiny_vocabulary(target="xy")
    runtime = tiny_runtime(system, vocabulary, scale=2.0, end=1.0)
    word = random_pair(2, 0, vocabulary=vocabulary)
    count = 6000
    frequencies = Counter(strings(draw(runtime, [word] * count)))
    expected = distribution(runtime, word, longest=5)
    likely = [string for string, share in expected.items() if share > 0.02]
    assert len(likely) > 3
    for string in likely:
        p = expected[string]
        error = (p * (1 - p) / count) ** 0.5
        assert frequencies[string] / count == pytest.approx(p, abs=4.5 * error)


@systems
def test_a_samples_score_is_that_of_what_was_drawn(system: str) -> None:
    runtime = tiny_runtime(system, end=2.0)
    for pair, hypothesis in zip(WORDS, draw(runtime, WORDS), strict=True):
        assert hypothesis.alpha.shape[0] == len(hypothesis.symbols) + hypothesis.finished
        if hypothesis.finished and system != "monotonic":
            (score,) = log_likelihoods(
                runtime, [Encoded(pair.source, pair.tags, [*hypothesis.symbols, END])]
            )
            assert hypothesis.log_prob == pytest.approx(score, abs=1e-9)


@systems
def test_samples_are_reproducible_and_a_words_own(system: str) -> None:
    runtime = tiny_runtime(system, dtype=np.float32, scale=3.0, end=1.0)
    together = strings(draw(runtime, WORDS))
    assert together == strings(draw(runtime, WORDS))
    assert together != strings(draw(runtime, WORDS, seed=1))
    assert len(set(strings(draw(runtime, WORDS[:1] * 20)))) > 1
    more = [*WORDS, random_pair(30, 0)]
    assert strings(draw(runtime, more, words=noisy(more, 5, seed=0)))[:-1] == together


@systems
@pytest.mark.parametrize("value", [0.0, 1 - 2**-53])
def test_the_impossible_is_never_drawn(system: str, value: float) -> None:
    """Noise at both ends of its range, where only one action is possible."""
    words = Words.of(WORDS)
    noise = np.full((len(WORDS), 200), value)
    arguments = (words, np.arange(len(WORDS)), noise)
    runtime = tiny_runtime(system, end=1e6)
    assert not any(strings(sample(runtime, runtime.read(words), *arguments)))
    # Where nothing ends, a pointer that has come to the end of its word must go on writing.
    runtime = tiny_runtime(system, end=-1e6)
    for pair, found in zip(WORDS, sample(runtime, runtime.read(words), *arguments), strict=True):
        assert len(found.symbols) == LENGTH_LIMIT * len(pair.source)
        assert not found.finished


def test_noise_is_each_rows_own_and_enough() -> None:
    noise = uniform_noise([(0, 1), (0, 2), (0, 1)], [3, 5, 5])
    assert noise.shape == (3, (LENGTH_LIMIT + 1) * 5)
    assert (noise[0, :15] == noise[2, :15]).all()
    assert (noise[0, 15:] == 0).all()
    assert (noise[1] != noise[2]).all()
    assert ((noise >= 0) & (noise < 1)).all()
