from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.exhaustive import distribution
from decoding.helpers import (
    WORDS,
    Scripted,
    Table,
    beams,
    greedily,
    noisy,
    numbers,
    sources,
    strings,
)
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, END, UNKNOWN
from hardalign.decoding import LENGTH_LIMIT, log_likelihoods
from hardalign.decoding.beam import beam_search
from hardalign.runtime import Runtime, Words
from hardalign.systems import SYSTEMS
from helpers import random_pair, tiny_runtime, tiny_vocabulary

systems = pytest.mark.parametrize("system", SYSTEMS)
XY = tiny_vocabulary(target="xy")


def ending(system: str, seed: int = 0, **options: Any) -> Runtime[Any, Any]:
    """A model whose strings are short but not all alike."""
    return tiny_runtime(system, seed=seed, scale=3.0, end=3.0, **options)


@systems
def test_a_beam_of_1_is_greedy(system: str) -> None:
    for seed in range(4):
        runtime = tiny_runtime(system, seed=seed, dtype=np.float32, end=2.0)
        pairs = zip(greedily(runtime, WORDS), beams(runtime, WORDS, 1), strict=True)
        for one, (other,) in pairs:
            assert (one.symbols, one.finished) == (other.symbols, other.finished)
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-9)
            assert (one.alpha == other.alpha).all()


@systems
@pytest.mark.parametrize("seed", range(3))
def test_a_beam_as_wide_as_the_space_finds_the_best_strings(system: str, seed: int) -> None:
    runtime = tiny_runtime(system, XY, seed=seed, scale=2.0, end=3.5)
    word = random_pair(2, 0, seed=seed, vocabulary=XY)
    expected = distribution(runtime, word, longest=5)
    best = sorted(expected, key=lambda string: -expected[string])[:4]
    # Else a longer string might be among the best.
    best = [string for string in best if expected[string] > 1 - sum(expected.values())]
    assert len(best) > 1
    width = 1000 if system == "monotonic" else 200  # the pointer has many paths to a string
    (hypotheses,) = beams(runtime, [word], width, keep=len(best))
    assert strings(hypotheses) == best
    for string, hypothesis in zip(best, hypotheses, strict=True):
        # Paths that come late to a string that has won already are not waited for.
        assert math.exp(hypothesis.log_prob) <= expected[string] + 1e-9
        if system != "monotonic":
            assert math.exp(hypothesis.log_prob) == pytest.approx(expected[string], abs=1e-9)


@systems
def test_lists_are_sorted_different_and_scored(system: str) -> None:
    runtime = ending(system)
    lists = beams(runtime, WORDS, 6, keep=4)
    assert sum(len(hypotheses) == 4 for hypotheses in lists) > 8
    for pair, hypotheses in zip(WORDS, lists, strict=True):
        assert len(set(strings(hypotheses))) == len(hypotheses) <= 4
        scores = [hypothesis.log_prob for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        for hypothesis in hypotheses:
            assert hypothesis.finished
            assert hypothesis.alpha.shape[0] == len(hypothesis.symbols) + 1
        if system != "monotonic":
            pairs = [Encoded(pair.source, pair.tags, [*h.symbols, END]) for h in hypotheses]
            assert log_likelihoods(runtime, pairs) == pytest.approx(scores, abs=1e-9)


@systems
def test_a_single_answer_is_no_worse_than_that_of_greed_or_the_first_of_two(system: str) -> None:
    better = 0
    for seed in range(3):
        runtime = tiny_runtime(system, seed=seed, scale=4.0, end=2.0)
        for first, (single,), two in zip(
            greedily(runtime, WORDS),
            beams(runtime, WORDS, 3),
            beams(runtime, WORDS, 3, keep=2),
            strict=True,
        ):
            if system == "monotonic":  # more of a string's paths may come together later
                assert single.symbols == two[0].symbols
                continue
            if first.finished:
                assert single.finished
                assert single.log_prob >= first.log_prob - 1e-9
            if two[0].finished:
                assert single.log_prob >= two[0].log_prob - 1e-9
            better += single.symbols != first.symbols
    assert better or system == "monotonic"  # or a beam would be of no use


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "monotonic"])
def test_alpha_is_that_of_the_strings_own_steps(system: str) -> None:
    """Not of `monotonic`: there a string has several paths."""
    runtime = ending(system)
    for pair, hypotheses in zip(WORDS, beams(runtime, WORDS, 6, keep=4), strict=True):
        for hypothesis in hypotheses:
            state, rows = runtime.start(runtime.read(Words.of([pair]))), []
            for symbol in [BEGIN, *hypothesis.symbols]:
                step = runtime.step(state, np.array([0]), np.array([symbol]))
                state = step.state
                rows.append(step.alpha[0])
            looked = hypothesis.alpha[:, : len(pair.source)]
            np.testing.assert_allclose(looked, rows, rtol=0, atol=1e-9)


@systems
def test_a_words_answers_are_its_own(system: str) -> None:
    runtime = ending(system)
    more = [*WORDS, random_pair(30, 0)]
    together = beams(runtime, more, 4, keep=3, words=noisy(more, 5, seed=0))
    for pair, hypotheses in zip(WORDS, together[:-1], strict=True):
        (alone,) = beams(runtime, [pair], 4, keep=3)
        assert strings(alone) == strings(hypotheses)
        scores = [hypothesis.log_prob for hypothesis in hypotheses]
        assert [hypothesis.log_prob for hypothesis in alone] == pytest.approx(scores, abs=1e-9)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 3))
def test_any_width_will_do(width: int, keep: int, seed: int) -> None:
    """Wider than there are symbols, too, and however many strings are wanted."""
    keep = min(keep, width)
    for hypotheses in beams(ending("hard", seed), WORDS[:3], width, keep=keep):
        assert 1 <= len(hypotheses) <= keep


@systems
def test_enough_mass_is_enough(system: str) -> None:
    """What comes before the mass is covered is the same as when all strings are wanted."""
    runtime = tiny_runtime(system, scale=2.0, end=4.0)
    everything = beams(runtime, WORDS, 32, keep=32)
    lists = beams(runtime, WORDS, 32, keep=32, mass=0.5)
    fewer = 0
    for all_strings, some in zip(everything, lists, strict=True):
        covered = np.cumsum(np.exp([h.log_prob for h in some]))
        needed = int((covered < 0.5).sum()) + 1
        if system == "monotonic":
            # The search may stop before all paths of a string have come together; what it stops
            # with covers the mass, or nothing is left to search for.
            assert covered[-1] >= 0.5 or len(some) == len(all_strings)
            full = {tuple(h.symbols): h.log_prob for h in all_strings}
            for hypothesis in some[:needed]:
                assert hypothesis.log_prob <= full[tuple(hypothesis.symbols)] + 1e-9
        else:
            assert strings(some)[:needed] == strings(all_strings)[:needed]
        fewer += len(some) < len(all_strings)
    assert fewer > 6  # or nothing was saved


@systems
def test_where_nothing_ends_the_best_is_cut_off(system: str) -> None:
    runtime = tiny_runtime(system, dtype=np.float32, end=-1e6)
    for pair, hypotheses in zip(WORDS, beams(runtime, WORDS, 3, keep=3), strict=True):
        (hypothesis,) = hypotheses
        assert len(hypothesis.symbols) == LENGTH_LIMIT * len(pair.source)
        assert not hypothesis.finished
        assert math.isfinite(hypothesis.log_prob)
        assert hypothesis.alpha.shape[0] == len(hypothesis.symbols)


@systems
def test_a_model_may_have_nothing_to_say(system: str) -> None:
    for hypotheses in beams(tiny_runtime(system, dtype=np.float32, end=1e6), WORDS, 4):
        assert strings(hypotheses) == [()]


@pytest.mark.parametrize(("letters", "finished"), [(-1, True), (0, False)])
def test_an_end_just_before_the_limit_counts(letters: int, finished: bool) -> None:
    limit = LENGTH_LIMIT * 4
    word = "z" * (limit + letters)
    ((hypothesis,),) = beams(Scripted([word]), sources([2]), 1)
    assert hypothesis.finished == finished
    assert hypothesis.symbols == numbers(word)[:limit]


GARDEN_PATH = [
    {1: (0.6, 1), 2: (0.4, 2)},
    {0: (0.3, 0), 1: (0.3, 3), 2: (0.4, 3)},  # x: every way on is poor
    {0: (0.9, 0), 1: (0.1, 3)},  # y: 0.36
    {0: (1.0, 0)},
]


def test_a_beam_sees_what_greed_does_not() -> None:
    (first,) = greedily(Table(GARDEN_PATH), sources([2]))
    assert first.symbols == numbers("xy")
    model = Table(GARDEN_PATH)
    ((best,),) = beams(model, sources([2]), 2)
    assert best.symbols == numbers("y")
    assert best.log_prob == pytest.approx(math.log(0.36))
    # After greedy search, two steps: no hypothesis can be better than 0.36 then.
    assert model.batch_sizes == [1, 1, 1, 1, 2]


def test_greedy_answers_stand_in_where_arithmetic_loses_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hardalign.decoding.beam.SLACK", -1.0)
    ((best,),) = beams(Table(GARDEN_PATH), sources([2]), 2)
    assert best.symbols == numbers("xy")


def test_the_search_goes_on_for_as_many_as_are_wanted() -> None:
    (three,) = beams(Table(GARDEN_PATH), sources([2]), 3, keep=3)
    assert strings(three) == [tuple(numbers(word)) for word in ("y", "xy", "x")]
    assert [math.exp(h.log_prob) for h in three] == pytest.approx([0.36, 0.24, 0.18])
    (ten,) = beams(Table(GARDEN_PATH), sources([2]), 10, keep=10)
    assert [math.exp(h.log_prob) for h in ten] == pytest.approx([0.36, 0.24, 0.18, 0.18, 0.04])


def test_only_the_words_that_are_wanted_are_answered() -> None:
    runtime, words = ending("hard"), Words.of(WORDS)
    which = [3, 0, 3]
    some = beam_search(runtime, runtime.read(words), words, np.array(which), 4, keep=2)
    every = beams(runtime, WORDS, 4, keep=2)
    assert [strings(one) for one in some] == [strings(every[k]) for k in which]


def test_ties_go_to_the_lower_symbol() -> None:
    even = [{0: (0.25, 0), 1: (0.25, 0), 2: (0.25, 0), 3: (0.25, 0)}]
    (four,) = beams(Table(even), sources([2]), 9, keep=4)
    assert strings(four) == [(), *[tuple(numbers(letter)) for letter in "xyz"]]
    ((best,),) = beams(Table([{1: (0.5, 0), 2: (0.5, 0)}]), sources([2]), 1)
    assert best.symbols == numbers("x") * LENGTH_LIMIT * 4


STEP = END + 4
MEETING_PATHS = [
    {1: (0.4, 1), 4: (0.6, 2)},  # x here or, after a STEP, there
    {0: (0.5, 0), 4: (0.5, 3)},
    {1: (0.5, 3), 2: (0.5, 4)},
    {0: (1.0, 0)},
    {0: (1.0, 0)},
]


def test_paths_of_one_string_are_added_up() -> None:
    (two,) = beams(Table(MEETING_PATHS, silent=STEP), sources([2]), 4, keep=2)
    assert strings(two) == [tuple(numbers("x")), tuple(numbers("y"))]
    assert [math.exp(h.log_prob) for h in two] == pytest.approx([0.7, 0.3])
    assert [h.alpha.shape[0] for h in two] == [2, 2]
    ((best,),) = beams(Table(MEETING_PATHS, silent=STEP), sources([2]), 1)
    assert math.exp(best.log_prob) == pytest.approx(0.3)


def test_a_string_cut_off_is_no_answer_beside_one_that_ends() -> None:
    model = Table([{0: (0.01, 0), 1: (0.99, 0)}])
    (hypotheses,) = beams(model, sources([2]), 2, keep=2)
    assert [h.finished for h in hypotheses] == [True, True]
    assert hypotheses[0].symbols == []
    (cut,) = beams(Table([{1: (0.5, 0), 2: (0.5, 0)}]), sources([2]), 4, keep=4)
    assert [h.finished for h in cut] == [False]


def test_words_leave_as_they_are_done() -> None:
    model = Scripted(["xyz", "", "x", "zzyx"])
    lists = beams(model, sources([3, 1, 2, 5]), 1)
    assert strings([best for (best,) in lists]) == [
        tuple(numbers(word)) for word in ("xyz", "", "x", "zzyx")
    ]
    assert model.batch_sizes == [4, 3, 2, 2, 1]


def test_unknown_letters_and_long_words() -> None:
    odd = Encoded([BEGIN, UNKNOWN, UNKNOWN, END], 0, [])
    runtime = ending("hard", dtype=np.float32)
    for hypotheses in beams(runtime, [odd, random_pair(200, 0)], 3, keep=2):
        assert hypotheses[0].finished
        assert math.isfinite(hypotheses[0].log_prob)
