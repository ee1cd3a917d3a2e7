from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from conftest import random_pair, random_pairs, tiny_model
from hardalign.data.batching import Batch, Encoded, collate
from hardalign.data.vocabulary import BEGIN, END, RESERVED
from hardalign.models.rows import Rows
from hardalign.models.systems import SYSTEMS
from hardalign.models.transducer import Step, Transducer
from hardalign.search import LENGTH_LIMIT, greedy

systems = pytest.mark.parametrize("system", SYSTEMS)


@dataclass(frozen=True)
class Place(Rows):
    word: Tensor  # [N]
    position: Tensor  # [N]


class Scripted(Transducer):
    """Says what it was told to: for each word a list of letters, then an end, or none."""

    def __init__(self, scripts: Sequence[str | None]) -> None:
        super().__init__()
        self.scripts = scripts
        self.previous: list[list[int]] = [[] for _ in scripts]
        self.batch_sizes: list[int] = []

    def begin(self, batch: Batch) -> Place:
        self.width = batch.source.shape[1]
        return Place(torch.arange(len(batch)), torch.zeros(len(batch), dtype=torch.long))

    def step(self, state: Rows, previous: Tensor) -> Step:
        assert isinstance(state, Place)
        self.batch_sizes.append(len(previous))
        log_probs = torch.full((len(previous), 4), -5.0)
        alignment = torch.zeros(len(previous), self.width)
        for row, (word, position) in enumerate(zip(state.word, state.position, strict=True)):
            self.previous[word].append(int(previous[row]))
            log_probs[row, self.choice(int(word), int(position))] = -0.5 - int(word)
            alignment[row, position % self.width] = 1.0
        return Step(log_probs, alignment, Place(state.word, state.position + 1))

    def choice(self, word: int, position: int) -> int:
        script = self.scripts[word]
        if script is None:
            return 1
        return "xyz".index(script[position]) + 1 if position < len(script) else 0

    def log_likelihood(self, batch: Batch) -> Tensor:
        raise NotImplementedError

    def align(self, batch: Batch) -> Tensor:
        raise NotImplementedError


def numbers(word: str) -> list[int]:
    return ["xyz".index(letter) + RESERVED for letter in word]


def sources(lengths: Sequence[int]) -> Batch:
    return collate([Encoded(random_pair(length, 0).source, 0, []) for length in lengths])


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


def lean(model: Transducer, amount: float) -> Transducer:
    """Make an end more or less likely."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("output.bias"):
                parameter[END] += amount
    return model


@torch.inference_mode()
def step_by_step(model: Transducer, pair: Encoded) -> tuple[list[int], float, bool, Tensor]:
    """Greedy search for one word, with nothing clever about it."""
    state, symbol = model.begin(collate([pair])), BEGIN
    symbols: list[int] = []
    total, rows = 0.0, []
    for _ in range(LENGTH_LIMIT * len(pair.source)):
        step = model.step(state, torch.tensor([symbol]))
        state = step.state
        symbol = int(step.log_probs[0].argmax()) + END
        total += float(step.log_probs[0].max())
        rows.append(step.alignment[0])
        if symbol == END:
            return symbols, total, True, torch.stack(rows)
        symbols.append(symbol)
    return symbols, total, False, torch.stack(rows)


WORDS = random_pairs(12, longest=6, seed=5)


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
