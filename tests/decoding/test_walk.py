from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from conftest import random_pair, tiny_model, tiny_vocabulary, widened
from decoding.conftest import WORDS, Scripted, lean, numbers, sources
from decoding.exhaustive import distribution
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, END
from hardalign.decoding import LENGTH_LIMIT, Hypothesis, greedy, noise, sample
from hardalign.networks.batch import collate
from hardalign.networks.transducer import Transducer
from hardalign.systems import SYSTEMS

systems = pytest.mark.parametrize("system", SYSTEMS)


def test_each_word_is_cut_at_its_own_end():
    scripts = ["xyz", "", "x", "zzyx"]
    found = greedy(Scripted(scripts), sources([3, 1, 2, 5]))
    assert [hypothesis.symbols for hypothesis in found] == [numbers(word) for word in scripts]
    assert all(hypothesis.finished for hypothesis in found)
    for row, (word, hypothesis) in enumerate(zip(scripts, found, strict=True)):
        steps = len(word) + 1
        assert hypothesis.log_prob == pytest.approx((-0.5 - row) * steps)
        assert torch.equal(hypothesis.alignment, torch.eye(7)[:steps])


def test_finished_words_leave_the_batch():
    model = Scripted(["xyz", "", "x", "zzyx"])
    greedy(model, sources([3, 1, 2, 5]))
    assert model.batch_sizes == [4, 3, 2, 2, 1]


def test_the_model_is_told_what_was_chosen():
    model = Scripted(["xyz", "", "x"])
    greedy(model, sources([3, 1, 2]))
    assert model.previous == [[BEGIN, *numbers("xyz")], [BEGIN], [BEGIN, *numbers("x")]]


def test_the_length_limit_is_each_words_own_and_reported():
    lengths = [1, 0, 3]
    model = Scripted([None, None, "xy"])
    endless, empty, finished = greedy(model, sources(lengths))
    assert endless.symbols == numbers("x") * (LENGTH_LIMIT * 3)
    assert empty.symbols == numbers("x") * (LENGTH_LIMIT * 2)
    assert not endless.finished
    assert not empty.finished
    assert endless.alignment.shape == (LENGTH_LIMIT * 3, 5)
    assert finished.finished
    assert finished.symbols == numbers("xy")


@pytest.mark.parametrize(("letters", "finished"), [(-1, True), (0, False), (1, False)])
def test_an_end_just_before_the_limit_counts(letters: int, finished: bool):
    limit = LENGTH_LIMIT * 4
    word = "z" * (limit + letters)
    (hypothesis,) = greedy(Scripted([word]), sources([2]))
    assert hypothesis.finished == finished
    assert hypothesis.symbols == numbers(word)[:limit]
    assert hypothesis.alignment.shape == (limit, 4)


@torch.inference_mode()
def step_by_step(model: Transducer, pair: Encoded) -> tuple[list[int], float, bool, Tensor]:
    """Greedy search for one word, with nothing clever about it."""
    state, symbol = model.begin(collate([pair])), BEGIN
    symbols: list[int] = []
    total, rows = 0.0, []
    while len(symbols) < LENGTH_LIMIT * len(pair.source):
        step = model.step(state, torch.tensor([symbol]))
        state = step.state
        symbol = int(step.log_probs[0].argmax()) + END
        total += float(step.log_probs[0].max())
        if symbol == model.silent:
            continue
        rows.append(step.alignment[0])
        if symbol == END:
            return symbols, total, True, torch.stack(rows)
        symbols.append(symbol)
    return symbols, total, False, torch.stack(rows)


@systems
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_a_search_for_one_word_at_a_time(system: str, dtype: torch.dtype):
    lengths = set()
    for seed in range(3):
        model = lean(tiny_model(system, seed=seed, scale=6.0, dtype=dtype), 2.0)
        for hypothesis, pair in zip(greedy(model, collate(WORDS)), WORDS, strict=True):
            symbols, log_prob, finished, alignment = step_by_step(model, pair)
            assert hypothesis.symbols == symbols
            assert hypothesis.finished == finished
            assert hypothesis.log_prob == pytest.approx(log_prob, abs=1e-4)
            looked = hypothesis.alignment[:, : len(pair.source)].to(dtype)
            torch.testing.assert_close(looked, alignment, rtol=0, atol=1e-5)
            lengths.add((len(symbols), finished))
    assert len(lengths) > 3  # or the test would prove little


@pytest.mark.parametrize("system", [k for k, v in SYSTEMS.items() if v.score != "best path"])
def test_log_prob_is_the_log_likelihood_of_what_was_found(system: str):
    model = lean(tiny_model(system, scale=6.0, dtype=torch.float32), 4.0)
    found = greedy(model, collate(WORDS))
    finished = [k for k, hypothesis in enumerate(found) if hypothesis.finished]
    assert len(finished) > 5
    pairs = [Encoded(WORDS[k].source, WORDS[k].tags, [*found[k].symbols, END]) for k in finished]
    scores = model.log_likelihood(collate(pairs)).tolist()
    assert [found[k].log_prob for k in finished] == pytest.approx(scores, abs=1e-4)


@systems
def test_a_model_that_never_ends_stops_at_the_limit(system: str):
    model = lean(tiny_model(system, dtype=torch.float32), -1e6)
    for hypothesis, pair in zip(greedy(model, collate(WORDS)), WORDS, strict=True):
        assert len(hypothesis.symbols) == LENGTH_LIMIT * len(pair.source)
        assert not hypothesis.finished
        assert torch.tensor(hypothesis.log_prob).isfinite()


@systems
def test_a_model_may_have_nothing_to_say(system: str):
    model = lean(tiny_model(system, dtype=torch.float32), 1e6)
    for hypothesis in greedy(model, collate(WORDS)):
        assert hypothesis.symbols == []
        assert hypothesis.finished
        assert hypothesis.alignment.shape[0] == 1


def draw(model: Transducer, words: Sequence[Encoded], seed: int = 0) -> list[Hypothesis]:
    batch = collate(words)
    return sample(model, batch, noise([(seed, k) for k in range(len(words))], batch))


@systems
def test_samples_follow_the_distribution(system: str):
    vocabulary = tiny_vocabulary(target="xy")
    model = lean(tiny_model(system, vocabulary, scale=2.0), 1.0)
    word = random_pair(2, 0, vocabulary=vocabulary)
    count = 4000
    drawn = Counter(tuple(found.symbols) for found in draw(model, [word] * count))
    expected = distribution(model, word, longest=5)
    likely = [string for string, log_prob in expected.items() if log_prob > -4]
    assert len(likely) > 3
    for string in likely:
        p = expected[string].exp().item()
        error = (p * (1 - p) / count) ** 0.5
        assert drawn[string] / count == pytest.approx(p, abs=4.5 * error)


@systems
def test_a_samples_score_is_that_of_what_was_drawn(system: str):
    model = lean(tiny_model(system, scale=6.0), 2.0)
    for pair, found in zip(WORDS, draw(model, WORDS), strict=True):
        assert found.alignment.shape[0] == len(found.symbols) + found.finished
        if found.finished and system != "monotonic":
            given = collate([Encoded(pair.source, pair.tags, [*found.symbols, END])])
            assert found.log_prob == pytest.approx(model.log_likelihood(given).item(), abs=1e-9)


@systems
def test_samples_are_reproducible_and_a_words_own(system: str):
    model = lean(tiny_model(system, dtype=torch.float32), 2.0)
    together = draw(model, WORDS)
    assert strings(together) == strings(draw(model, WORDS))
    assert strings(together) != strings(draw(model, WORDS, seed=1))
    assert len(set(strings(draw(model, WORDS[:1] * 20)))) > 1
    batch = widened([*WORDS, random_pair(30, 0)], 5, seed=0)
    seeds = [(0, k) for k in range(len(batch))]
    assert strings(sample(model, batch, noise(seeds, batch)))[:-1] == strings(together)


def strings(found: list[Hypothesis]) -> list[tuple[int, ...]]:
    return [tuple(hypothesis.symbols) for hypothesis in found]


@systems
def test_the_impossible_is_never_drawn(system: str):
    """Noise at both ends of its range, where only one action is possible."""
    model = lean(tiny_model(system), 1e6)
    for value in (0.0, 1 - 2**-53):
        extreme = torch.full((len(WORDS), 100), value, dtype=torch.float64)
        assert not any(found.symbols for found in sample(model, collate(WORDS), extreme))


@pytest.mark.parametrize("value", [0.0, 1 - 2**-53])
def test_a_pointer_at_the_end_cannot_be_drawn_further(value: float):
    model = lean(tiny_model("monotonic"), -1e6)
    extreme = torch.full((len(WORDS), 200), value, dtype=torch.float64)
    for found in sample(model, collate(WORDS), extreme):
        assert not found.finished


def test_sampling_stops_at_the_limit():
    model = lean(tiny_model(dtype=torch.float32), -1e6)
    for pair, found in zip(WORDS, draw(model, WORDS), strict=True):
        assert len(found.symbols) == LENGTH_LIMIT * len(pair.source)
        assert not found.finished
