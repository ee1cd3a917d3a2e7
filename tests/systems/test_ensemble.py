"""Temperatures and ensembles against enumeration, on models small enough for it."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from hardalign.batches import Batch
from hardalign.data.vocabulary import BEGIN, END, RESERVED, Encoded
from hardalign.errors import HardalignError
from hardalign.search import Search, find_strings
from hardalign.systems import SYSTEMS
from hardalign.systems.ensemble import Ensemble
from hardalign.systems.model import Answering, Targets, Words
from helpers import random_pair, tiny_runtime

AnyRuntime = Answering
PAIRS = [random_pair(letters, target, seed=letters) for letters, target in ((2, 3), (3, 1), (1, 2))]
systems = pytest.mark.parametrize("system", SYSTEMS)
written = pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "monotonic"])


def follow(runtime: AnyRuntime, pairs: list[Encoded] = PAIRS) -> Any:
    targets = Targets.of(range(len(pairs)), [pair.target for pair in pairs])
    return runtime.follow(runtime.read(Words.of(pairs)), targets)


def next_log_probs(runtime: AnyRuntime, pair: Encoded, prefix: tuple[int, ...]) -> Any:
    """log p(· | prefix) by steps of one hypothesis."""
    state = runtime.start(runtime.read(Words.of([pair])))
    for symbol in (BEGIN, *prefix):
        step = runtime.step(state, np.array([0]), np.array([symbol]))
        state = step.state
    return step.log_probs[0]


def chain_rule(distribution: Any, target: list[int]) -> list[float]:
    """log p(y_i | y_<i), by a function from prefixes to log-probabilities."""
    return [float(distribution(tuple(target[:i]))[symbol - END]) for i, symbol in enumerate(target)]


@written
def test_scores_at_a_temperature_are_those_of_the_definition(system: str) -> None:
    inner, temperature = tiny_runtime(system), 1.7

    def by_hand(pair: Encoded, prefix: tuple[int, ...]) -> Any:
        powers = np.exp(next_log_probs(inner, pair, prefix)) ** (1 / temperature)
        return np.log(powers / powers.sum())

    lattice = follow(Ensemble([inner], temperature))
    for pair, row in zip(PAIRS, lattice.log_probs(), strict=True):
        expected = chain_rule(partial(by_hand, pair), pair.target)
        np.testing.assert_allclose(row[: len(pair.target)], expected, atol=1e-10)
        assert (row[len(pair.target) :] == 0).all()


def test_a_pointer_at_a_temperature_is_scored_along_its_own_path() -> None:
    inner = tiny_runtime("monotonic")
    lattice = follow(Ensemble([inner], 2.0))
    targets = Targets.of(range(len(PAIRS)), [pair.target for pair in PAIRS])
    actions = inner.actions(inner.read(Words.of(PAIRS)), targets)
    for pair, row, path in zip(PAIRS, lattice.log_probs(), actions, strict=True):
        path = [int(action) for action in path if action]
        total = 0.0
        for i, action in enumerate(path):
            powers = np.exp(next_log_probs(inner, pair, tuple(path[:i])) / 2)
            total += np.log(powers[action - END] / powers.sum())
        assert row.sum() == pytest.approx(total, abs=1e-10)


@systems
def test_temperature_1_changes_nothing(system: str) -> None:
    inner = tiny_runtime(system)
    for one, other in zip(
        follow(Ensemble([inner], 1.0)).log_probs(), follow(inner).log_probs(), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-10)


@systems
def test_no_temperature_changes_alignments(system: str) -> None:
    one, other = follow(Ensemble([tiny_runtime(system)], 2.5)), follow(tiny_runtime(system))
    assert (one.weights() == other.weights()).all()
    assert (one.best_path() == other.best_path()).all()


@pytest.mark.parametrize("temperature", [0.5, 3.0])
@pytest.mark.parametrize("members", [1, 3])
def test_probabilities_of_all_strings_sum_to_1(temperature: float, members: int) -> None:
    """Those up to a length, and of all longer ones together, by their prefixes."""
    parts = [tiny_runtime("hard-hmm", seed=k) for k in range(members)]
    runtime = Ensemble(parts, temperature)
    letters = range(RESERVED, RESERVED + 3)
    strings = [list(s) for length in range(4) for s in product(letters, repeat=length)]
    source = PAIRS[0]
    pairs = [Encoded(source.source, source.tags, [*string, END]) for string in strings]
    log_probs = follow(runtime, pairs).log_probs()
    ended = np.exp(log_probs.sum(1)).sum()
    going_on = sum(
        np.exp(row[:3].sum()) * (1 - np.exp(row[3]))
        for row, string in zip(log_probs, strings, strict=True)
        if len(string) == 3
    )
    assert ended + going_on == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("temperature", [0.4, 4.0])
def test_greedy_strings_are_the_same_at_any_temperature(temperature: float) -> None:
    strings = [
        [best.symbols for (best,) in find_strings(Batch(runtime, PAIRS), Search())]
        for runtime in (tiny_runtime(), Ensemble([tiny_runtime()], temperature))
    ]
    assert strings[0] == strings[1]


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("inf"), float("nan")])
def test_impossible_temperatures_are_refused(temperature: float) -> None:
    with pytest.raises(HardalignError, match="above 0 and finite"):
        Ensemble([tiny_runtime()], temperature)


MIXED = ("hard", "hard-hmm", "hard-monotonic")


def members(system: str) -> list[AnyRuntime]:
    if system == "mixed":
        return [tiny_runtime(name, seed=k) for k, name in enumerate(MIXED)]
    return [tiny_runtime(system, seed=k) for k in range(3)]


ensembles = pytest.mark.parametrize("system", [*SYSTEMS, "mixed"])
written_ensembles = pytest.mark.parametrize(
    "system", [name for name in (*SYSTEMS, "mixed") if name != "monotonic"]
)


@written_ensembles
def test_an_ensemble_is_the_mean_of_its_members_at_every_step(system: str) -> None:
    runtimes = members(system)

    def by_hand(pair: Encoded, prefix: tuple[int, ...]) -> Any:
        return np.log(np.mean([np.exp(next_log_probs(r, pair, prefix)) for r in runtimes], 0))

    lattice = follow(Ensemble(runtimes))
    for pair, row in zip(PAIRS, lattice.log_probs(), strict=True):
        expected = chain_rule(partial(by_hand, pair), pair.target)
        np.testing.assert_allclose(row[: len(pair.target)], expected, atol=1e-10)
        assert (row[len(pair.target) :] == 0).all()


@ensembles
def test_members_have_their_shares_in_every_symbols_posterior(system: str) -> None:
    runtimes = members(system)
    lattice = follow(Ensemble(runtimes))
    weights, path = lattice.weights(), lattice.best_path()
    lattices = [follow(runtime) for runtime in runtimes]
    for p, pair in enumerate(PAIRS):
        for i in range(len(pair.target)):
            shares = np.array([np.exp(own.log_probs()[p, i]) for own in lattices])
            expected = sum(
                share * own.weights()[p, i]
                for share, own in zip(shares / shares.sum(), lattices, strict=True)
            )
            np.testing.assert_allclose(weights[p, i], expected, atol=1e-10)
            assert path[p, i] == expected.argmax()


def test_pointers_are_averaged_action_by_action() -> None:
    runtimes = members("monotonic")
    runtime = Ensemble(runtimes)
    targets = Targets.of(range(len(PAIRS)), [pair.target for pair in PAIRS])
    actions = runtime.actions(runtime.read(Words.of(PAIRS)), targets)
    for pair, row, path in zip(PAIRS, follow(runtime).log_probs(), actions, strict=True):
        path = [int(action) for action in path if action]
        total = 0.0
        for i, action in enumerate(path):
            own = [np.exp(next_log_probs(r, pair, tuple(path[:i]))[action - END]) for r in runtimes]
            total += np.log(np.mean(own))
        assert row.sum() == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize("system", ["hard", "soft-feed", "hard-feed", "hard-monotonic", "mixed"])
def test_an_ensembles_steps_multiply_to_its_scores(system: str) -> None:
    runtime = Ensemble(members(system))
    for pair, row in zip(PAIRS, follow(runtime).log_probs(), strict=True):
        steps = chain_rule(partial(next_log_probs, runtime, pair), pair.target)
        np.testing.assert_allclose(row[: len(pair.target)], steps, atol=1e-10)


def test_hypotheses_of_an_ensemble_do_not_disturb_one_another() -> None:
    runtime = Ensemble(members("hard"))
    (best,) = find_strings(Batch(runtime, PAIRS[:1]), Search(beam=8))[0]
    together = [own[0] for own in find_strings(Batch(runtime, PAIRS), Search(beam=8))]
    assert together[0].symbols == best.symbols
    for pair, one in zip(PAIRS, together, strict=True):
        if one.finished:
            target = [*one.symbols, END]
            scores = follow(runtime, [Encoded(pair.source, pair.tags, target)]).log_probs()
            assert one.log_prob == pytest.approx(scores.sum(), abs=1e-9)


@pytest.mark.parametrize("system", ["hard", "hard-monotonic", "mixed"])
def test_samples_of_an_ensemble_have_its_posterior(system: str) -> None:
    lattice = follow(Ensemble(members(system)), PAIRS[:1])
    steps, count = len(PAIRS[0].target), 40_000
    noise = np.random.default_rng(0).random((1, steps, count))
    drawn = lattice.samples(noise)[0]  # [I, S]
    width = lattice.weights().shape[-1]
    shares = (drawn[:, :, None] == np.arange(width)).mean(1)
    np.testing.assert_allclose(shares, lattice.weights()[0], atol=4 * 0.5 / count**0.5)


def test_members_must_fit_together() -> None:
    with pytest.raises(HardalignError, match="the same symbols"):
        Ensemble([tiny_runtime("hard"), tiny_runtime("monotonic")])
