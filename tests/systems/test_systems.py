"""Every system's runtime against plain loops and against the network that learned it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import reference
from hardalign.batches import estimate
from hardalign.data.vocabulary import BEGIN, END, UNKNOWN, Encoded, Vocabulary
from hardalign.errors import HardalignError
from hardalign.systems import SYSTEMS
from hardalign.systems.lattice import Lattice
from hardalign.systems.model import Answering, Targets, Words, build_model
from hardalign.systems.network import Network, collate
from hardalign.systems.ops.numpy import NumpyOps
from helpers import (
    BESIDE,
    TINY,
    VARIANTS,
    copied,
    random_pair,
    random_pairs,
    runtime_of,
    spelled_alike,
    tiny_config,
    tiny_runtime,
    tiny_tensors,
    tiny_vocabulary,
)
from searching import distribution
from systems.plain import Array, Plain, oracle_path, plain

XP = NumpyOps()
systems = pytest.mark.parametrize("system", VARIANTS)
UNTAGGED = tiny_vocabulary(tags=())
SIZES = [(TINY, 1), (TINY, 2), (UNTAGGED, 1)]
"""Vocabularies and numbers of layers."""
SHAPES = [(2, 3, 0), (1, 0, 0), (1, 2, 1), (7, 1, 0), (3, 2, 2), (14, 1, 1), (0, 1, 0)]
"""Letters, target letters and tags of pairs whose alignments can be counted."""


def short_pairs(vocabulary: Vocabulary = TINY, seed: int = 0) -> list[Encoded]:
    tagged = bool(vocabulary.source.tags)
    return [
        random_pair(letters, target, tags=tags * tagged, seed=seed + k, vocabulary=vocabulary)
        for k, (letters, target, tags) in enumerate(SHAPES)
    ]


def follow(runtime: Answering, pairs: list[Encoded]) -> Lattice:
    targets = Targets.of(range(len(pairs)), [pair.target for pair in pairs])
    return runtime.follow(runtime.read(Words.of(pairs)), targets)


def assert_close(one: Array, other: Array, atol: float = 1e-10) -> None:
    np.testing.assert_allclose(one, other, rtol=0, atol=atol)


@systems
@pytest.mark.parametrize(("vocabulary", "layers"), SIZES)
def test_equals_the_plain_loops(system: str, vocabulary: Vocabulary, layers: int) -> None:
    tensors = tiny_tensors(system, vocabulary, layers=layers)
    pairs = short_pairs(vocabulary)
    lattice = follow(runtime_of(system, tensors, vocabulary, layers), pairs)
    rows = zip(lattice.log_probs(), lattice.weights(), lattice.best_path(), strict=True)
    for pair, (log_probs, weights, path) in zip(pairs, rows, strict=True):
        expected, steps = plain(system, tensors, pair, copied(system, vocabulary)), len(pair.target)
        assert_close(log_probs[:steps], expected.log_probs)
        assert_close(weights[:steps, : len(pair.source)], expected.weights)
        assert (log_probs[steps:] == 0).all()
        assert (weights[:steps, len(pair.source) :] == 0).all()
        if SYSTEMS[system.split()[0]].alignment == "attention":
            assert path[:steps].tolist() == expected.weights.argmax(1).tolist()
        else:
            assert tuple(path[:steps].tolist()) == expected.best_path


@systems
@pytest.mark.parametrize(("vocabulary", "layers"), SIZES)
def test_equals_the_network(system: str, vocabulary: Vocabulary, layers: int) -> None:
    for seed in range(2):
        tensors = tiny_tensors(system, vocabulary, layers=layers, seed=seed)
        network = Network(tiny_config(system, layers), spelled_alike(vocabulary)).double().eval()
        values = {name: torch.from_numpy(tensor) for name, tensor in tensors.items()}
        missing, unexpected = network.load_state_dict(values, strict=False)
        assert not unexpected
        assert all(name.startswith("objective.") for name in missing)
        pairs = random_pairs(12, seed=seed, vocabulary=vocabulary)
        with torch.inference_mode():
            expected = network.symbol_log_likelihood(collate(pairs)).numpy()
        runtime = runtime_of(system, tensors, vocabulary, layers)
        assert_close(follow(runtime, pairs).log_probs(), expected)


def along(runtime: Answering, pair: Encoded, actions: list[int]) -> tuple[Array, Array]:
    """The distributions [K, V] and α [K, J] on the way along some actions."""
    state, rows = runtime.start(runtime.read(Words.of([pair]))), np.array([0])
    distributions, alphas = [], []
    for previous in [BEGIN, *actions[:-1]]:
        step = runtime.step(state, rows, np.array([previous]))
        state = step.state
        distributions.append(np.exp(step.log_probs[0]))
        alphas.append(step.alpha[0])
    return np.array(distributions), np.array(alphas)


@systems
@pytest.mark.parametrize(("vocabulary", "layers"), SIZES)
def test_steps_equal_the_plain_loops(system: str, vocabulary: Vocabulary, layers: int) -> None:
    tensors = tiny_tensors(system, vocabulary, layers=layers)
    runtime = runtime_of(system, tensors, vocabulary, layers)
    for pair in short_pairs(vocabulary, seed=7):
        expected: Plain = plain(system, tensors, pair, copied(system, vocabulary))
        if runtime.step_action >= 0:
            actions = oracle_path(tensors["oracle.table"], pair, runtime.step_action)
            writes = [action != runtime.step_action for action in actions]
            distributions, alpha = (rows[writes] for rows in along(runtime, pair, actions))
        else:
            distributions, alpha = along(runtime, pair, pair.target)
        assert distributions.shape[1] == runtime.symbols
        assert_close(distributions, expected.distributions)
        assert_close(alpha, expected.alpha)


@pytest.mark.parametrize("system", [name for name in VARIANTS if name != "monotonic"])
def test_steps_along_a_target_are_what_follows_it(system: str) -> None:
    """In company: hypotheses of several words that multiply, part and change places.

    Not of `monotonic`, whose steps are not those of the target; the test above has it.
    """
    runtime, pairs = tiny_runtime(system), random_pairs(6, seed=3)
    memory = runtime.read(Words.of(pairs))
    order = np.random.default_rng(0)
    targets = [random_pair(0, 4, seed=k).target for k in range(12)]
    word = order.integers(len(pairs), size=12)
    expected = runtime.follow(memory, Targets.of(word.tolist(), targets)).log_probs()
    state, place = runtime.start(memory), np.arange(len(pairs))  # of the words among the rows
    rows, previous = place[word], np.full(12, BEGIN)
    for i in range(5):
        shuffle = order.permutation(12)
        step = runtime.step(state, rows[shuffle], previous[shuffle])
        chosen = np.array([targets[k][i] for k in shuffle])
        assert_close(step.log_probs[np.arange(12), chosen - END], expected[shuffle, i])
        state, rows = step.state, np.argsort(shuffle)
        previous = np.array([target[i] for target in targets])


@systems
def test_a_pairs_numbers_are_its_own(system: str) -> None:
    """Whatever its mates are, and whatever is written where there is padding."""
    pairs = random_pairs(10, seed=2)
    for dtype, atol in ((np.float64, 1e-10), (np.float32, 1e-5)):
        runtime = tiny_runtime(system, dtype=dtype, scale=3.0)
        words, generator = Words.of([*pairs, random_pair(40, 0)]), np.random.default_rng(0)
        noise = generator.integers(0, len(TINY.source), words.symbols.shape)
        words = replace(words, symbols=np.where(words.mask(XP), words.symbols, noise))
        targets = Targets.of(range(10), [pair.target for pair in pairs])
        noise = generator.integers(END, len(TINY.target), targets.symbols.shape)
        targets = replace(targets, symbols=np.where(targets.mask(XP), targets.symbols, noise))
        together = runtime.follow(runtime.read(words), targets)
        for k, pair in enumerate(pairs):
            alone, steps, positions = follow(runtime, [pair]), len(pair.target), len(pair.source)
            assert_close(together.log_probs()[k, :steps], alone.log_probs()[0], atol)
            assert_close(together.weights()[k, :steps, :positions], alone.weights()[0], atol)
            if dtype is np.float64:
                assert together.best_path()[k, :steps].tolist() == alone.best_path()[0].tolist()


@systems
def test_a_word_may_have_several_targets_or_none(system: str) -> None:
    runtime, pairs = tiny_runtime(system), random_pairs(4, seed=1)
    owners = [2, 0, 2, 3, 0]
    targets = [random_pair(0, k, seed=k).target for k in range(5)]
    lattice = runtime.follow(runtime.read(Words.of(pairs)), Targets.of(owners, targets))
    for k, (owner, target) in enumerate(zip(owners, targets, strict=True)):
        alone = follow(runtime, [replace(pairs[owner], target=target)])
        assert_close(lattice.log_probs()[k, : len(target)], alone.log_probs()[0])
        columns = len(pairs[owner].source)
        assert_close(lattice.weights()[k, : len(target), :columns], alone.weights()[0])


@systems
def test_a_strings_probability_is_that_of_its_steps_and_all_sum_to_1(system: str) -> None:
    vocabulary = tiny_vocabulary(target="xy")
    runtime = tiny_runtime(system, vocabulary, scale=2.0, end=3.0)
    for word in (random_pair(2, 0, vocabulary=vocabulary), random_pair(1, 0, tags=1)):
        expected = distribution(runtime, word, longest=5)
        targets = Targets.of([0] * len(expected), [[*string, END] for string in expected])
        lattice = runtime.follow(runtime.read(Words.of([word])), targets)
        probabilities = np.exp(lattice.log_probs().sum(1))
        assert 0.9 < sum(expected.values()) <= 1 + 1e-12
        if runtime.step_action >= 0:  # the score is that of one of many paths
            assert (probabilities <= np.array(list(expected.values())) + 1e-12).all()
        else:
            assert_close(probabilities, np.array(list(expected.values())))


@systems
def test_samples_are_as_frequent_as_they_are_probable(system: str) -> None:
    tensors = tiny_tensors(system, scale=3.0)
    pairs = [random_pair(2, 2, seed=4), random_pair(1, 2, seed=5)]
    lattice = follow(runtime_of(system, tensors), pairs)
    noise = np.random.default_rng(0).random((2, 3, 20_000))
    if SYSTEMS[system.split()[0]].alignment != "posterior":
        with pytest.raises(HardalignError, match="posterior"):
            lattice.samples(noise)
        return
    for pair, samples in zip(pairs, lattice.samples(noise), strict=True):
        expected = plain(system, tensors, pair, copied(system)).paths
        drawn, counts = np.unique(samples.T, axis=0, return_counts=True)
        frequencies = dict(zip(map(tuple, drawn.tolist()), counts / 20_000, strict=True))
        assert frequencies.keys() <= {path for path, share in expected.items() if share > 0}
        for path, share in expected.items():
            error = (share * (1 - share) / 20_000) ** 0.5
            assert frequencies.get(path, 0.0) == pytest.approx(share, abs=5 * error + 1e-4)


@systems
@pytest.mark.parametrize("tolerance", [1e-4, 1e-2])
def test_no_probability_is_off_by_more_than_the_tolerance(system: str, tolerance: float) -> None:
    """After the first step, too: what `hard-hmm` remembers was cut there as well.

    Then it is off by the tolerance over the probability of the symbol that was chosen.
    """
    is_hmm = system.startswith(("hard-hmm", "hard-monotonic"))
    cut = 0.0
    for seed in range(3):
        runtime, pairs = tiny_runtime(system, seed=seed, scale=8.0), random_pairs(8, seed=seed)
        memory = runtime.read(Words.of(pairs))
        rows, previous = np.arange(8), np.full(8, BEGIN)
        exact = about = runtime.start(memory)
        bound = np.full((8, 1), tolerance)
        for _ in range(3):
            one = runtime.step(exact, rows, previous)
            other = runtime.step(about, rows, previous, tolerance)
            off = np.abs(np.exp(one.log_probs) - np.exp(other.log_probs))
            assert (off <= bound).all()
            assert_close(np.exp(other.log_probs).sum(1), np.ones(8))
            cut = max(cut, off.max())
            exact, about = one.state, other.state
            previous = one.log_probs[:, 1:4].argmax(1) + END + 1
            if is_hmm:
                bound = bound + bound / np.exp(one.log_probs[rows, previous - END])[:, None]
    mixes = SYSTEMS[system.split()[0]].alignment == "posterior"
    assert (cut > 0) == mixes  # or nothing was left out, and the test would prove little


@systems
def test_single_precision_stays_single(system: str) -> None:
    runtime, pairs = tiny_runtime(system, dtype=np.float32, layers=2), random_pairs(5)
    memory = runtime.read(Words.of(pairs))
    lattice = runtime.follow(memory, Targets.of(range(5), [pair.target for pair in pairs]))
    assert lattice.log_probs().dtype == np.float32
    assert lattice.weights().dtype == np.float32
    state, rows, previous = runtime.start(memory), np.arange(5), np.full(5, BEGIN)
    for tolerance in (0.0, 1e-6, 0.0):
        step = runtime.step(state, rows, previous, tolerance)
        assert step.log_probs.dtype == step.alpha.dtype == np.float32
        assert set(dtypes(step.state)) == {np.dtype(np.float32)}
        state, previous = step.state, np.full(5, END + 1)


def dtypes(value: object) -> list[np.dtype[Any]]:
    """Of all arrays of floats that something holds."""
    if isinstance(value, np.ndarray):
        return [value.dtype] if value.dtype.kind == "f" else []
    parts = value if isinstance(value, tuple) else getattr(value, "__dict__", {}).values()
    return [dtype for part in parts for dtype in dtypes(part)]


@systems
def test_what_was_never_seen_is_read_as_unknown(system: str) -> None:
    runtime = tiny_runtime(system)
    odd = Encoded([BEGIN, UNKNOWN, 4, UNKNOWN, END], 1, [4, END])
    lattice = follow(runtime, [odd, random_pair(9, 3)])
    assert np.isfinite(lattice.log_probs()).all()
    assert (lattice.log_probs()[0, :2] < 0).all()


def test_tags_have_no_order_for_a_pointer_and_unknown_ones_no_slot() -> None:
    runtime = tiny_runtime("monotonic")
    noun, verb = TINY.source.encode((), ("N", "V"))

    def score(*tags: int) -> float:
        pair = Encoded([BEGIN, *tags, 4, 5, END], len(tags), [4, 5, END])
        return float(follow(runtime, [pair]).log_probs().sum())

    assert score(noun, verb) == pytest.approx(score(verb, noun), abs=1e-12)
    assert score(noun, UNKNOWN) == pytest.approx(score(noun), abs=1e-12)
    assert len({round(score(*tags), 9) for tags in ((), (noun,), (verb,), (noun, verb))}) == 4


@pytest.mark.parametrize("system", BESIDE)
def test_tags_beside_have_no_order_and_unknown_ones_count_nothing(system: str) -> None:
    runtime = tiny_runtime(system)
    noun, verb = TINY.source.encode((), ("N", "V"))

    def score(*tags: int) -> float:
        pair = Encoded([BEGIN, *tags, 4, 5, END], len(tags), [4, 5, END])
        lattice = follow(runtime, [pair, random_pair(2, 3)])
        assert not lattice.weights()[0, :3, 1 : 1 + len(tags)].any()
        return float(lattice.log_probs()[0].sum())

    assert score(noun, verb) == pytest.approx(score(verb, noun), abs=1e-12)
    assert score(noun, UNKNOWN) == pytest.approx(score(noun), abs=1e-12)
    assert len({round(score(*tags), 9) for tags in ((), (noun,), (verb,), (noun, verb))}) == 4


def test_no_such_system() -> None:
    with pytest.raises(HardalignError, match="no system is called 'hrad'"):
        build_model(tiny_config("hrad"), {}, TINY)


def test_particles_estimate_what_brute_force_adds_up() -> None:
    runtime, pair, count = tiny_runtime("hard-feed"), random_pair(2, 2, seed=0), 20_000
    p = {name: torch.from_numpy(tensor) for name, tensor in tiny_tensors("hard-feed").items()}
    exact = reference.fed_likelihood(p, pair.source, pair.target).log().item()
    one = [estimate(runtime, pair, 1, (0, k)) for k in range(400)]
    assert np.std(one) > 1e-3  # or it would prove little
    assert np.mean(one) < exact
    assert estimate(runtime, pair, count, (0,)) == pytest.approx(exact, abs=0.005)
    assert estimate(runtime, pair, 300, (1,)) == estimate(runtime, pair, 300, (1,))


def test_an_exact_model_needs_no_particles() -> None:
    runtime, pair = tiny_runtime("hard"), random_pair(3, 2)
    assert estimate(runtime, pair, 300, (0,)) == pytest.approx(
        follow(runtime, [pair]).log_probs().sum(), abs=1e-12
    )
