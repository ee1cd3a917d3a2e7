from __future__ import annotations

import math
import random

import pytest
import torch
from hardalign.decoding.batches import log_likelihoods, predictions

from conftest import random_pairs
from decoding.conftest import lean
from decoding.exhaustive import distribution
from hardalign.data.encoding import Encoded
from hardalign.decoding import Hypothesis, Search
from hardalign.decoding import answers as module
from hardalign.decoding import batches as inference
from hardalign.decoding.answers import answers, covered
from hardalign.networks.transducer import Transducer
from hardalign.systems import SYSTEMS
from tiny import tiny_model

systems = pytest.mark.parametrize("system", SYSTEMS)
exact = pytest.mark.parametrize("system", [k for k, v in SYSTEMS.items() if v.score == "exact"])


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[Encoded]:
    """Words of mixed lengths, and batches too small to hold them all."""
    monkeypatch.setattr(inference, "BATCH_SYMBOLS", 60)
    pairs = [Encoded(pair.source, pair.tags, []) for pair in random_pairs(15, longest=5)]
    random.Random(0).shuffle(pairs)
    return pairs


def talkative(system: str = "hard") -> Transducer:
    return lean(tiny_model(system, scale=6.0), -0.5)


def test_the_model_has_much_to_say(words: list[Encoded]):
    """Or the tests below would prove little."""
    for system in SYSTEMS:
        found = answers(talkative(system), words, Search(nbest=3))
        assert len({len(one.symbols) for three in found for one in three}) > 2, system


def strings(found: list[Hypothesis]) -> list[tuple[int, ...]]:
    return [tuple(hypothesis.symbols) for hypothesis in found]


SEARCHES = [
    Search(),
    Search(beam=3),
    Search(nbest=3),
    Search(samples=3, seed=4),
    Search(nbest=2, rescore=False),
]


@systems
@pytest.mark.parametrize("search", SEARCHES)
def test_answers_come_in_the_order_asked(system: str, search: Search, words: list[Encoded]):
    model = talkative(system)
    together = answers(model, words, search)
    for place, (word, found) in enumerate(zip(words, together, strict=True)):
        (alone,) = answers(model, [word], search, first=place)
        assert strings(alone) == strings(found)
        scores = [hypothesis.log_prob for hypothesis in found]
        assert [hypothesis.log_prob for hypothesis in alone] == pytest.approx(scores, abs=1e-9)


@systems
@pytest.mark.parametrize("search", SEARCHES)
def test_nothing_asked(system: str, search: Search):
    assert answers(tiny_model(system), [], search) == []


@systems
def test_a_beam_of_1_is_greedy(system: str, words: list[Encoded]):
    model = talkative(system)
    found = answers(model, words, Search(beam=1))
    assert strings([best for (best,) in found]) == strings(predictions(model, words))


@systems
def test_scores_are_the_log_likelihoods_and_in_order(system: str, words: list[Encoded]):
    model = lean(tiny_model(system, scale=4.0, dtype=torch.float32), 2.0)
    for search in SEARCHES[:4]:
        for word, found in zip(words, answers(model, words, search), strict=True):
            scores = [hypothesis.log_prob for hypothesis in found]
            if not search.samples:
                assert scores == sorted(scores, reverse=True)
            finished = [hypothesis for hypothesis in found if hypothesis.finished]
            pairs = [Encoded(word.source, word.tags, [*h.symbols, 3]) for h in finished]
            if system != "monotonic":
                expected = log_likelihoods(model, pairs)
                assert [h.log_prob for h in finished] == pytest.approx(expected, abs=1e-5)


@exact
@pytest.mark.parametrize("mass", [0.3, 0.6])
def test_the_shortest_list_that_covers_the_mass(system: str, mass: float):
    model = lean(tiny_model(system, scale=4.0), 3.0)
    words = random_pairs(4, longest=2, seed=1)
    for word, found in zip(words, answers(model, words, Search(mass=mass)), strict=True):
        everything = distribution(model, word, longest=4)
        best = sorted(everything.values(), reverse=True)
        sums = torch.stack(best).exp().cumsum(0)
        needed = int((sums < mass).sum()) + 1
        assert len(found) == needed
        assert covered(found) == pytest.approx(sums[:needed].tolist(), abs=1e-9)
        assert covered(found)[-1] >= mass


def test_beams_are_widened_only_where_they_must(monkeypatch: pytest.MonkeyPatch):
    widths: list[tuple[int, int]] = []
    search = module.beam_search

    def spy(model: Transducer, batch: object, width: int, *rest: object) -> object:
        widths.append((width, len(batch)))  # type: ignore[arg-type]
        return search(model, batch, width, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "beam_search", spy)
    monkeypatch.setattr(module, "MASS_BEAM_LIMIT", 32)
    words = random_pairs(12, longest=3, seed=1)
    found = answers(lean(tiny_model(scale=3.0), 1.0), words, Search(mass=0.9))
    short = [strings for strings in found if covered(strings)[-1] < 0.9]
    assert {width for width, _ in widths} == {8, 16, 32}
    counts = [sum(count for w, count in widths if w == width) for width in (8, 16, 32)]
    assert 12 == counts[0] >= counts[1] >= counts[2] >= len(short) > 0


def test_what_was_cut_off_covers_nothing():
    model = lean(tiny_model(), -math.inf)
    ((only,),) = answers(model, random_pairs(1), Search(mass=0.5))
    assert not only.finished
    assert covered([only]) == [0.0]


def test_samples_depend_on_the_seed_and_the_place_alone(words: list[Encoded]):
    model = talkative()
    two = answers(model, words[:1] * 2, Search(samples=20))
    assert strings(two[0]) != strings(two[1])
    more = answers(model, words[:1], Search(samples=30))
    assert strings(more[0])[:20] == strings(two[0])
    other = answers(model, words[:1], Search(samples=20, seed=1))
    assert strings(other[0]) != strings(two[0])
    assert len(set(strings(two[0]))) < 20  # some are equal, as it happens


def test_mass_sums_to_at_most_1(words: list[Encoded]):
    for found in answers(talkative(), words, Search(nbest=40)):
        assert covered(found)[-1] <= 1 + 1e-9
        assert math.isfinite(found[0].log_prob)
