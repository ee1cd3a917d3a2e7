"""Greedy search, samples and beams: against scripted models, and against all strings there are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardalign.batches import Batch, log_likelihoods
from hardalign.data.vocabulary import BEGIN, END, LENGTH_LIMIT, UNKNOWN, Encoded
from hardalign.decoding import (
    History,
    Hypothesis,
    beam_search,
    best_columns,
    greedy,
    sample,
    uniform_noise,
)
from hardalign.errors import HardalignError
from hardalign.search import DEFAULT_BEAM, MASS_BEAM_LIMIT, Search
from hardalign.systems import SYSTEMS
from hardalign.systems.model import Answering, Words
from hardalign.systems.ops.numpy import Floats
from helpers import random_pair, tiny_runtime, tiny_vocabulary
from searching import (
    WORDS,
    Scripted,
    Table,
    beams,
    distribution,
    greedily,
    noisy,
    numbers,
    sources,
    strings,
)

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


def step_by_step(runtime: Answering, pair: Encoded) -> tuple[list[int], float, bool, Floats]:
    """Greedy search for one word, with nothing clever about it."""
    state, symbol = runtime.start(runtime.read(Words.of([pair]))), BEGIN
    symbols: list[int] = []
    total, rows = 0.0, []
    while len(symbols) < LENGTH_LIMIT * len(pair.source):
        step = runtime.step(state, np.array([0]), np.array([symbol]))
        state = step.state
        symbol = int(step.log_probs[0].argmax()) + END
        total += float(step.log_probs[0].max())
        if symbol == runtime.step_action:
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
    runtime: Answering, pairs: Sequence[Encoded], seed: int = 0, words: Words | None = None
) -> list[Hypothesis]:
    noise = uniform_noise([(seed, k) for k in range(len(pairs))], [len(p.source) for p in pairs])
    return sample(Batch(runtime, pairs, words), np.arange(len(pairs)), noise)


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
    noise = np.full((len(WORDS), 200), value)
    every = np.arange(len(WORDS))
    assert not any(strings(sample(Batch(tiny_runtime(system, end=1e6), WORDS), every, noise)))
    # Where nothing ends, a pointer that has come to the end of its word must go on writing.
    endless = Batch(tiny_runtime(system, end=-1e6), WORDS)
    for pair, found in zip(WORDS, sample(endless, every, noise), strict=True):
        assert len(found.symbols) == LENGTH_LIMIT * len(pair.source)
        assert not found.finished


def test_noise_is_each_rows_own_and_enough() -> None:
    noise = uniform_noise([(0, 1), (0, 2), (0, 1)], [3, 5, 5])
    assert noise.shape == (3, (LENGTH_LIMIT + 1) * 5)
    assert (noise[0, :15] == noise[2, :15]).all()
    assert (noise[0, 15:] == 0).all()
    assert (noise[1] != noise[2]).all()
    assert ((noise >= 0) & (noise < 1)).all()


XY = tiny_vocabulary(target="xy")


def ending(system: str, seed: int = 0, **options: Any) -> Answering:
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
def test_a_model_may_have_nothing_to_say_in_a_beam(system: str) -> None:
    for hypotheses in beams(tiny_runtime(system, dtype=np.float32, end=1e6), WORDS, 4):
        assert strings(hypotheses) == [()]


@pytest.mark.parametrize(("letters", "finished"), [(-1, True), (0, False)])
def test_an_end_just_before_the_limit_counts_in_a_beam(letters: int, finished: bool) -> None:
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
    monkeypatch.setattr("hardalign.decoding.SLACK", -1.0)
    ((best,),) = beams(Table(GARDEN_PATH), sources([2]), 2)
    assert best.symbols == numbers("xy")


def test_the_search_goes_on_for_as_many_as_are_wanted() -> None:
    (three,) = beams(Table(GARDEN_PATH), sources([2]), 3, keep=3)
    assert strings(three) == [tuple(numbers(word)) for word in ("y", "xy", "x")]
    assert [math.exp(h.log_prob) for h in three] == pytest.approx([0.36, 0.24, 0.18])
    (ten,) = beams(Table(GARDEN_PATH), sources([2]), 10, keep=10)
    assert [math.exp(h.log_prob) for h in ten] == pytest.approx([0.36, 0.24, 0.18, 0.18, 0.04])


def test_only_the_words_that_are_wanted_are_answered() -> None:
    runtime = ending("hard")
    which = [3, 0, 3]
    some = beam_search(Batch(runtime, WORDS), np.array(which), 4, keep=2)
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


def test_ties_among_hypotheses_go_to_the_better_one_then_to_the_lower_symbol() -> None:
    """xx and yx, xy and yy are equally probable at the second step, as are x and y at the first."""
    even = [{1: (0.5, 1), 2: (0.5, 1)}, {1: (0.5, 2), 2: (0.5, 2)}, {0: (1.0, 0)}]
    (four,) = beams(Table(even), sources([2]), 4, keep=4)
    assert strings(four) == [tuple(numbers(word)) for word in ("xx", "xy", "yx", "yy")]
    (two,) = beams(Table(even), sources([2]), 2, keep=2)
    assert strings(two) == [tuple(numbers(word)) for word in ("xx", "xy")]
    many = Table([dict.fromkeys((0, 1, 2, 3), (0.25, 1)), {0: (1.0, 0)}])
    (three,) = beams(many, sources([2]), 3, keep=3)
    assert strings(three) == [(), tuple(numbers("x")), tuple(numbers("y"))]


@given(st.data(), st.integers(1, 60), st.integers(1, 20))
def test_the_best_columns_are_those_of_a_stable_sort(
    data: st.DataObject, columns: int, count: int
) -> None:
    """Of few columns and of many, with ties and with nothing at all in some."""
    values = st.sampled_from([-np.inf, -3.0, -2.0, -1.0, 0.0])
    scores = np.array([data.draw(st.lists(values, min_size=columns, max_size=columns))])
    expected = sorted(range(columns), key=lambda k: (-scores[0, k], k))[:count]
    found = best_columns(scores, count)[0].tolist()
    alive = [k for k in expected if scores[0, k] > -np.inf]
    assert found[: len(alive)] == alive
    assert len(found) == len(expected)


def test_a_string_has_all_its_paths_and_no_other_string_any_of_them() -> None:
    """Every path that a table has is followed, and strings have the sums of their own."""
    letters = {1: (0.3, 1), 2: (0.2, 1), 3: (0.1, 1), 4: (0.4, 1)}
    table = [letters, {k: (p, 2) for k, (p, _) in letters.items()}, {0: (1.0, 0)}]
    (found,) = beams(Table(table, silent=STEP), sources([3]), 100, keep=100)
    share = {"x": 0.3, "y": 0.2, "z": 0.1}
    expected = {tuple(numbers(a + b)): p * q for a, p in share.items() for b, q in share.items()}
    expected |= {tuple(numbers(a)): 2 * 0.4 * p for a, p in share.items()} | {(): 0.16}
    probabilities = {tuple(h.symbols): math.exp(h.log_prob) for h in found}
    assert probabilities == pytest.approx(expected)


def test_silent_actions_are_no_symbols_and_look_nowhere() -> None:
    history = History(STEP)
    looked = np.eye(4)
    node = np.array([-1])
    for row, action in enumerate((BEGIN, STEP, 5, STEP)):
        node = history.visit(node, np.array([action]), looked[row : row + 1])
    (finished,) = history.hypotheses(node, np.array([END]), np.zeros(1))
    assert finished.symbols == [5]
    assert (finished.alpha == looked[[1, 3]]).all()  # before 5, before the end


@pytest.mark.parametrize(
    ("search", "width", "most"),
    [
        (Search(), 1, 1),
        (Search(beam=4), 4, 1),
        (Search(nbest=3), DEFAULT_BEAM, 3),
        (Search(nbest=9), 9, 9),
        (Search(beam=9, nbest=9), 9, 9),
        (Search(samples=7), 1, 7),
        (Search(mass=0.5), 1, MASS_BEAM_LIMIT),
    ],
)
def test_what_is_not_given_follows(search: Search, width: int, most: int) -> None:
    assert (search.width, search.most) == (width, most)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"beam": 0}, "beam"),
        ({"nbest": 0}, "nbest"),
        ({"samples": -1}, "samples"),
        ({"samples": 10**8}, "samples must be a whole number from 1 to 10000"),
        ({"beam": 10**8}, "beam must be a whole number from 1 to 10000"),
        ({"nbest": 10**8}, "nbest must be a whole number from 1 to 10000"),
        ({"seed": -1}, "seed"),
        ({"beam": True}, "beam"),
        ({"mass": "x"}, "mass"),
        ({"mass": 0.0}, "mass"),
        ({"mass": 1.0}, "mass"),
        ({"mass": float("nan")}, "mass"),
        ({"beam": 2, "nbest": 3}, "widen"),
        ({"mass": 0.5, "beam": 3}, "one of"),
        ({"mass": 0.5, "samples": 3}, "one of"),
        ({"nbest": 2, "samples": 3}, "one of"),
    ],
)
def test_the_impossible_is_refused(wrong: dict[str, int], word: str) -> None:
    with pytest.raises(HardalignError, match=word):
        Search(**wrong)


@pytest.mark.parametrize(
    ("table", "best"),
    [
        # Two paths that are worse than what has ended, each, and better together.
        ([{0: (0.4, 0), 1: (0.3, 1), 4: (0.3, 2)}, {0: (1.0, 0)}, {1: (1.0, 1)}], 0.6),
        # One that is added to a string that has ended and is not the best yet.
        (
            [
                {0: (0.4, 0), 1: (0.25, 1), 4: (0.35, 2)},
                {0: (1.0, 0)},
                {1: (0.6, 3), 2: (0.4, 3)},
                {4: (1.0, 1)},
            ],
            0.25 + 0.35 * 0.6,
        ),
    ],
)
def test_paths_go_on_while_they_may_add_up_to_the_best_string(
    table: list[dict[int, tuple[float, int]]], best: float
) -> None:
    ((found,),) = beams(Table(table, silent=STEP), sources([2]), 4)
    assert found.symbols == numbers("x")
    assert math.exp(found.log_prob) == pytest.approx(best)


@pytest.mark.parametrize("system", ["hard", "hard-hmm", "hard-feed"])
def test_what_a_search_leaves_out_depends_on_its_own_word_alone(system: str) -> None:
    """The tolerance is shared among a word's own positions, however long its batch mates are."""
    runtime = tiny_runtime(system, scale=5.0, end=2.0)
    alone = [greedy(Batch(runtime, [word]), np.array([0]), 0.7)[0] for word in WORDS]
    more = [*WORDS, random_pair(60, 0)]
    together = greedy(Batch(runtime, more), np.arange(len(more)), 0.7)[:-1]
    exact = greedily(runtime, WORDS)
    assert strings(together) == strings(alone)
    scores = [one.log_prob for one in alone]
    assert [one.log_prob for one in together] == pytest.approx(scores, abs=1e-9)
    assert scores != pytest.approx([one.log_prob for one in exact], abs=1e-9)  # something was
