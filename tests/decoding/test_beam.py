from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
import torch
from hardalign.networks.rows import Rows
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from conftest import random_pair, tiny_vocabulary
from decoding.conftest import WORDS, Scripted, lean, numbers, sources
from decoding.exhaustive import String, distribution
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, END, UNKNOWN
from hardalign.decoding import LENGTH_LIMIT, Hypothesis, beam_search, greedy
from hardalign.networks.batch import Batch, collate
from hardalign.networks.transducer import Step, Transducer
from hardalign.systems import SYSTEMS
from tiny import tiny_model, widened

systems = pytest.mark.parametrize("system", SYSTEMS)
XY = tiny_vocabulary(target="xy")


def strings(found: Sequence[Hypothesis]) -> list[String]:
    return [tuple(hypothesis.symbols) for hypothesis in found]


@systems
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_of_1_is_greedy(system: str, seed: int):
    model = lean(tiny_model(system, seed=seed, scale=6.0, dtype=torch.float32), 1.0)
    batch = collate(WORDS)
    for one, (other,) in zip(greedy(model, batch), beam_search(model, batch, 1), strict=True):
        assert (one.symbols, one.finished) == (other.symbols, other.finished)
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-9)
        assert torch.equal(one.alignment, other.alignment)


@systems
@pytest.mark.parametrize("seed", range(3))
def test_a_beam_as_wide_as_the_space_finds_the_best_strings(system: str, seed: int):
    model = lean(tiny_model(system, XY, seed=seed, scale=2.0), 3.0)
    word = random_pair(2, 0, seed=seed, vocabulary=XY)
    expected = distribution(model, word, longest=5)
    missing = 1 - sum(math.exp(log_prob) for log_prob in expected.values())
    best = sorted(expected, key=lambda string: -expected[string])[:4]
    assert expected[best[-1]].exp() > missing  # or a longer string might be among the best
    (found,) = beam_search(model, collate([word]), 5000 if system == "monotonic" else 200, keep=4)
    assert strings(found) == best
    for string, hypothesis in zip(best, found, strict=True):
        # Paths that come late to a string that has won already are not waited for.
        assert hypothesis.log_prob <= expected[string] + 1e-9
        if system != "monotonic":
            assert hypothesis.log_prob == pytest.approx(expected[string].item(), abs=1e-9)


@systems
def test_lists_are_sorted_different_and_scored(system: str):
    model = lean(tiny_model(system, scale=4.0), 2.0)
    lists = beam_search(model, collate(WORDS), 6, keep=4)
    assert sum(len(found) == 4 for found in lists) > 8
    for pair, found in zip(WORDS, lists, strict=True):
        assert len(set(strings(found))) == len(found) <= 4
        scores = [hypothesis.log_prob for hypothesis in found]
        assert scores == sorted(scores, reverse=True)
        for hypothesis in found:
            assert hypothesis.finished
            assert hypothesis.alignment.shape[0] == len(hypothesis.symbols) + 1
        if system != "monotonic":
            pairs = [Encoded(pair.source, pair.tags, [*h.symbols, END]) for h in found]
            assert model.log_likelihood(collate(pairs)).tolist() == pytest.approx(scores, abs=1e-9)


@systems
@pytest.mark.parametrize("seed", range(3))
def test_a_single_answer_is_no_worse_than_that_of_greed_or_the_first_of_two(system: str, seed: int):
    model = lean(tiny_model(system, seed=seed, scale=4.0), 1.0)
    batch = collate(WORDS)
    for greedily, (single,), two in zip(
        greedy(model, batch),
        beam_search(model, batch, 3),
        beam_search(model, batch, 3, keep=2),
        strict=True,
    ):
        if greedily.finished:
            assert single.finished
            assert single.log_prob >= greedily.log_prob - 1e-9 or system == "monotonic"
        if two[0].finished:
            assert single.log_prob >= two[0].log_prob - 1e-9


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "monotonic"])
def test_alignments_are_those_of_the_strings_own_steps(system: str):
    """Not of `monotonic`: there a string has several paths."""
    model = lean(tiny_model(system, scale=4.0), 2.0)
    for pair, found in zip(WORDS, beam_search(model, collate(WORDS), 6, keep=4), strict=True):
        for hypothesis in found:
            state, rows = model.begin(collate([pair])), []
            for symbol in [BEGIN, *hypothesis.symbols]:
                step = model.step(state, torch.tensor([symbol]))
                state = step.state
                rows.append(step.alignment[0])
            looked = hypothesis.alignment[:, : len(pair.source)]
            torch.testing.assert_close(looked, torch.stack(rows).float())


@systems
@pytest.mark.parametrize("noise", [None, 0])
def test_a_words_answers_are_its_own(system: str, noise: int | None):
    model = lean(tiny_model(system, scale=4.0), 2.0)
    together = beam_search(model, widened([*WORDS, random_pair(30, 0)], 5, seed=noise), 4, keep=3)
    for pair, found in zip(WORDS, together[:-1], strict=True):
        (alone,) = beam_search(model, collate([pair]), 4, keep=3)
        assert strings(alone) == strings(found)
        scores = [hypothesis.log_prob for hypothesis in found]
        assert [hypothesis.log_prob for hypothesis in alone] == pytest.approx(scores, abs=1e-9)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 3))
def test_any_width_will_do(width: int, keep: int, seed: int):
    """Wider than there are symbols, too, and whatever is asked for."""
    keep = min(keep, width)
    model = lean(tiny_model(seed=seed), 1.0)
    for found in beam_search(model, collate(WORDS[:3]), width, keep):
        assert 1 <= len(found) <= keep


@systems
def test_enough_mass_is_enough(system: str):
    model = lean(tiny_model(system, scale=4.0), 2.0)
    everything = beam_search(model, collate(WORDS), 32, keep=32)
    some = beam_search(model, collate(WORDS), 32, keep=32, mass=0.5)
    for all_found, found in zip(everything, some, strict=True):
        covered, needed = 0.0, 0
        while covered < 0.5 and needed < len(all_found):
            covered += math.exp(all_found[needed].log_prob)
            needed += 1
        if system == "monotonic":
            continue  # where paths join late, fewer of them are found
        assert strings(found)[:needed] == strings(all_found)[:needed]


@systems
def test_where_nothing_ends_the_best_is_cut_off(system: str):
    model = lean(tiny_model(system, dtype=torch.float32), -1e6)
    for pair, found in zip(WORDS, beam_search(model, collate(WORDS), 3, keep=3), strict=True):
        (hypothesis,) = found
        assert len(hypothesis.symbols) == LENGTH_LIMIT * len(pair.source)
        assert not hypothesis.finished
        assert math.isfinite(hypothesis.log_prob)
        assert hypothesis.alignment.shape[0] == len(hypothesis.symbols)


@systems
def test_a_model_may_have_nothing_to_say(system: str):
    model = lean(tiny_model(system, dtype=torch.float32), 1e6)
    for found in beam_search(model, collate(WORDS), 4):
        assert strings(found) == [()]


@pytest.mark.parametrize(("letters", "finished"), [(-1, True), (0, False)])
def test_an_end_just_before_the_limit_counts(letters: int, finished: bool):
    limit = LENGTH_LIMIT * 4
    word = "z" * (limit + letters)
    ((hypothesis,),) = beam_search(Scripted([word]), sources([2]), 1)
    assert hypothesis.finished == finished
    assert hypothesis.symbols == numbers(word)[:limit]


@dataclass(frozen=True)
class Node(Rows):
    at: Tensor  # [N]


class Table(Transducer):
    """Log-probabilities of the actions after each node, and the node that each leads to."""

    def __init__(self, table: Sequence[dict[int, tuple[float, int]]], silent: int = -1) -> None:
        super().__init__()
        self.number = silent
        size = 1 + 3 + (silent >= 0)
        self.log_probs = torch.full((len(table), size), -torch.inf, dtype=torch.float64)
        self.leads = torch.zeros(len(table), size, dtype=torch.long)
        for node, row in enumerate(table):
            for action, (probability, next_node) in row.items():
                self.log_probs[node, action] = math.log(probability)
                self.leads[node, action] = next_node
        self.batch_sizes: list[int] = []

    @property
    def silent(self) -> int:
        return self.number

    def begin(self, batch: Batch) -> Node:
        return Node(torch.zeros(len(batch), dtype=torch.long))

    def step(self, state: Rows, previous: Tensor) -> Step:
        assert isinstance(state, Node)
        self.batch_sizes.append(len(previous))
        onward = self.leads[state.at, (previous - END).clamp(min=0)]
        at = torch.where(previous == BEGIN, state.at, onward)
        return Step(self.log_probs[at], torch.ones(len(at), 4), Node(at))

    def symbol_log_likelihood(self, batch: Batch) -> Tensor:
        raise NotImplementedError

    def align(self, batch: Batch) -> Tensor:
        raise NotImplementedError


GARDEN_PATH = [
    {1: (0.6, 1), 2: (0.4, 2)},
    {0: (0.3, 0), 1: (0.3, 3), 2: (0.4, 3)},  # x: every way on is poor
    {0: (0.9, 0), 1: (0.1, 3)},  # y: 0.36
    {0: (1.0, 0)},
]


def test_a_beam_sees_what_greed_does_not():
    batch = sources([2])
    (greedily,) = greedy(Table(GARDEN_PATH), batch)
    assert greedily.symbols == numbers("xy")
    model = Table(GARDEN_PATH)
    ((found,),) = beam_search(model, batch, 2)
    assert found.symbols == numbers("y")
    assert found.log_prob == pytest.approx(math.log(0.36))
    # After greedy search, two steps: no hypothesis can be better than 0.36 then.
    assert model.batch_sizes == [1, 1, 1, 1, 2]


def test_greedy_answers_stand_in_where_arithmetic_loses_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("hardalign.decoding.beam.SLACK", -1.0)
    ((found,),) = beam_search(Table(GARDEN_PATH), sources([2]), 2)
    assert found.symbols == numbers("xy")


def test_the_search_goes_on_for_as_many_as_are_asked_for():
    (found,) = beam_search(Table(GARDEN_PATH), sources([2]), 3, keep=3)
    assert strings(found) == [tuple(numbers(word)) for word in ("y", "xy", "x")]
    assert [math.exp(h.log_prob) for h in found] == pytest.approx([0.36, 0.24, 0.18])
    (found,) = beam_search(Table(GARDEN_PATH), sources([2]), 10, keep=10)
    assert [math.exp(h.log_prob) for h in found] == pytest.approx([0.36, 0.24, 0.18, 0.18, 0.04])


def test_ties_go_to_the_lower_symbol():
    even = [{0: (0.25, 0), 1: (0.25, 0), 2: (0.25, 0), 3: (0.25, 0)}]
    (found,) = beam_search(Table(even), sources([2]), 9, keep=4)
    assert strings(found) == [(), *[tuple(numbers(letter)) for letter in "xyz"]]
    model = Table([{1: (0.5, 0), 2: (0.5, 0)}])
    ((found_one,),) = beam_search(model, sources([2]), 1)
    assert found_one.symbols == numbers("x") * LENGTH_LIMIT * 4


STEP = END + 4
MEETING_PATHS = [
    {1: (0.4, 1), 4: (0.6, 2)},  # x here or, after a STEP, there
    {0: (0.5, 0), 4: (0.5, 3)},
    {1: (0.5, 3), 2: (0.5, 4)},
    {0: (1.0, 0)},
    {0: (1.0, 0)},
]


def test_paths_of_one_string_are_added_up():
    model = Table(MEETING_PATHS, silent=STEP)
    (found,) = beam_search(model, sources([2]), 4, keep=2)
    assert strings(found) == [tuple(numbers("x")), tuple(numbers("y"))]
    assert [math.exp(h.log_prob) for h in found] == pytest.approx([0.7, 0.3])
    assert [h.alignment.shape[0] for h in found] == [2, 2]
    ((greedily,),) = beam_search(Table(MEETING_PATHS, silent=STEP), sources([2]), 1)
    assert math.exp(greedily.log_prob) == pytest.approx(0.3)


def test_a_string_cut_off_is_no_answer_beside_one_that_ends():
    model = Table([{0: (0.01, 0), 1: (0.99, 0)}])
    found = beam_search(model, sources([2]), 2, keep=2)[0]
    assert [h.finished for h in found] == [True, True]
    assert found[0].symbols == []
    model = Table([{1: (0.5, 0), 2: (0.5, 0)}])
    (cut,) = beam_search(model, sources([2]), 4, keep=4)
    assert [h.finished for h in cut] == [False]


def test_words_leave_as_they_are_done():
    model = Scripted(["xyz", "", "x", "zzyx"])
    found = beam_search(model, sources([3, 1, 2, 5]), 1)
    assert strings([best for (best,) in found]) == [
        tuple(numbers(word)) for word in ("xyz", "", "x", "zzyx")
    ]
    assert model.batch_sizes == [4, 3, 2, 2, 1]


def test_unknown_letters_and_long_words():
    model = lean(tiny_model(dtype=torch.float32), 2.0)
    odd = replace(random_pair(3, 0), source=[BEGIN, UNKNOWN, UNKNOWN, END])
    for found in beam_search(model, collate([odd, random_pair(200, 0)]), 3, keep=2):
        assert found
