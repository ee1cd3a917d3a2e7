"""Letters that were never seen, and are copied: they are as letters that look like the unknown one.

The oracle is a model with a larger vocabulary, in which each stranger is a letter like all others:
its embeddings are those of the unknown symbol, and the softmax never emits it.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from hardalign.batches import Batch
from hardalign.data.formats import FORMATS, Example
from hardalign.data.vocabulary import BEGIN, END, RESERVED, UNKNOWN, Alphabet, Encoded, Vocabulary
from hardalign.model_folder import Tensors
from hardalign.search import Search, find_strings
from hardalign.systems.ensemble import Ensemble
from hardalign.systems.model import Answering, Targets, Words, copied_symbols, indexer
from helpers import (
    COPYING,
    TINY,
    runtime_of,
    spelled_alike,
    tiny_config,
    tiny_runtime,
    tiny_tensors,
    tiny_vocabulary,
)
from searching import distribution
from systems.plain import plain

STRANGE = tuple("éüñß")
PAIRS = [
    Example(("é",), (("é",),)),
    Example(("a", "é"), (("é", "z", "é"),), ("N",)),
    Example(("é", "b", "ü"), (("é", "ü", "d"),), ("V", "N")),
    Example(("ñ", "ß", "é", "ü"), (("ü", "z"),)),
    Example(("a", "b"), (("c", "d"),), ("N",)),
    Example(("c", "é", "é", "d"), ((),)),
    Example(("z", "é"), (("z", "z"),)),  # z is a letter of the target side alone
]
SYSTEMS = [name for name in COPYING if not name.startswith("hard-monotonic")]
LAYOUT = FORMATS["sigmorphon"]
systems = pytest.mark.parametrize("system", [*SYSTEMS, "hard-hmm copying beside"])


def larger(tensors: Tensors, vocabulary: Vocabulary) -> tuple[Tensors, Vocabulary]:
    """The same model with strangers among its letters, behind those that it has.

    And with z, which only the target side has, on the source side too.
    """
    before_tags = RESERVED + len(vocabulary.source.letters)
    grown = dict(tensors)
    for name, place, count in (
        ("encoder", before_tags, len(STRANGE) + 1),
        ("decoder", len(vocabulary.target), len(STRANGE)),
    ):
        embedding = tensors[f"{name}.embedding.weight"]
        rows = [embedding[UNKNOWN]] * count
        grown[f"{name}.embedding.weight"] = np.insert(embedding, [place] * count, rows, 0)
    weight, bias = (tensors[f"head.attention.output.{part}"] for part in ("weight", "bias"))
    grown["head.attention.output.weight"] = np.pad(weight, ((0, len(STRANGE)), (0, 0)))
    grown["head.attention.output.bias"] = np.append(bias, [-np.inf] * len(STRANGE))
    source, target = vocabulary.source, vocabulary.target
    sides = (
        Alphabet((*source.letters, *STRANGE, "z"), source.tags),
        Alphabet(target.letters + STRANGE),
    )
    return grown, Vocabulary(*sides)


def known(pair: Example, vocabulary: Vocabulary) -> Encoded:
    """A pair as the larger model reads it."""
    target = [*vocabulary.target.encode(pair.targets[0]), END]
    return Encoded(vocabulary.encode_source(pair), len(pair.tags), target)


@systems
def test_equals_a_model_that_has_them_as_letters(system: str) -> None:
    vocabulary = spelled_alike(TINY)
    config, tensors = tiny_config(system), tiny_tensors(system)
    grown, large = larger(tensors, vocabulary)
    copied = dict(enumerate(copied_symbols(config, large)))
    copied = {source: target for source, target in copied.items() if target}
    runtime, numbers = runtime_of(system, tensors), indexer(config, vocabulary, LAYOUT)
    pairs = [numbers.pair(pair) for pair in PAIRS]
    targets = Targets.of(range(len(pairs)), [pair.target for pair in pairs])
    lattice = runtime.follow(runtime.read(Words.of(pairs)), targets)
    for k, pair in enumerate(PAIRS):
        expected = plain(system, grown, known(pair, large), copied)
        rows, columns = expected.weights.shape
        np.testing.assert_allclose(lattice.log_probs()[k, :rows], expected.log_probs, atol=1e-10)
        weights = lattice.weights()[k, :rows, :columns]
        np.testing.assert_allclose(weights, expected.weights, atol=1e-10)


@systems
def test_strings_with_strangers_are_part_of_a_proper_distribution(system: str) -> None:
    """And a search, an ensemble and a temperature know them too."""
    vocabulary = spelled_alike(TINY)
    numbers = indexer(tiny_config(system), vocabulary, LAYOUT)
    word = numbers.source(Example(("é", "a", "ü")))
    members = [tiny_runtime(system, seed=seed, end=2.0) for seed in (0, 1)]
    for runtime in (members[0], Ensemble(members), Ensemble([members[1]], 1.7)):
        strings = distribution(runtime, word, 3)
        complete = [p for string, p in strings.items() if len(string) < 3]
        assert sum(strings.values()) < 1 + 1e-9
        assert any(number >= len(vocabulary.target) for s in strings for number in s)
        assert all(number < len(vocabulary.target) + 2 for s in strings for number in s)
        assert sum(complete) > 0
        beam = find_strings(Batch(runtime, [word]), Search(beam=400, nbest=5))[0]
        best = sorted(strings.values(), reverse=True)[:5]
        for found, probability in zip(beam, best, strict=True):
            if len(found.symbols) <= 3:
                own = strings[tuple(found.symbols)]
                assert math.isclose(math.exp(found.log_prob), own, rel_tol=1e-6)
            assert found.log_prob >= math.log(probability) - 1e-6


def test_mates_do_not_matter() -> None:
    vocabulary, runtime = spelled_alike(TINY), tiny_runtime("hard-hmm copying")
    numbers = indexer(tiny_config("hard-hmm copying"), vocabulary, LAYOUT)
    pairs = [numbers.pair(pair) for pair in PAIRS]
    together = list(Batch(runtime, pairs).pair_scores())
    for pair, scores in zip(pairs, together, strict=True):
        np.testing.assert_allclose(next(Batch(runtime, [pair]).pair_scores()), scores, atol=1e-10)


def test_members_that_do_not_copy_give_them_no_share() -> None:
    members = [tiny_runtime(system, end=2.0) for system in ("hard copying", "hard")]
    numbers = indexer(tiny_config("hard copying"), spelled_alike(TINY), LAYOUT)
    word = numbers.source(Example(("é",)))
    alone, joined = (distribution(one, word, 1) for one in (members[0], Ensemble(members)))
    string = (len(TINY.target),)
    first = np.exp(members[0].step(*begun(members[0], word)).log_probs[0])
    other = np.exp(members[1].step(*begun(members[1], word)).log_probs[0])
    both = np.exp(Ensemble(members).step(*begun(Ensemble(members), word)).log_probs[0])
    np.testing.assert_allclose(both, (first + np.append(other, 0)) / 2)
    assert 0 < joined[string] < alone[string]


def begun(runtime: Answering, word: Encoded) -> tuple[Any, Any, Any]:
    """What the first step of a word takes."""
    return runtime.start(runtime.read(Words.of([word]))), np.array([0]), np.array([BEGIN])


def test_only_models_that_can_copy_from_anywhere_have_them() -> None:
    shared, apart = tiny_vocabulary("ab", (), "ax"), tiny_vocabulary("ab", (), "xy")
    cases = product(["hard", "hard copying", "hard-monotonic copying"], [shared, apart])
    for system, vocabulary in cases:
        has = system == "hard copying" and vocabulary is shared
        numbers = indexer(tiny_config(system), vocabulary, LAYOUT)
        assert bool(numbers.oov_of(("é",))) == has
