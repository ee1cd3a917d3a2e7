from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from hardalign.decoding.batches import (
    alignments,
    best_paths,
    log_likelihoods,
    predictions,
    sample_paths,
    symbol_log_likelihoods,
)

from conftest import random_pair, random_pairs
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import UNKNOWN
from hardalign.decoding import batches as inference
from hardalign.decoding import greedy
from hardalign.networks.batch import collate
from hardalign.systems import SYSTEMS
from tiny import tiny_model

systems = pytest.mark.parametrize("system", SYSTEMS)


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[Encoded]:
    """Words of mixed lengths, and batches too small to hold them all."""
    monkeypatch.setattr(inference, "BATCH_SYMBOLS", 50)
    pairs = random_pairs(25, longest=8)
    random.Random(0).shuffle(pairs)
    return pairs


@systems
def test_predictions_come_in_the_order_asked(system: str, words: list[Encoded]):
    model = tiny_model(system, dtype=torch.float32)
    found = predictions(model, [Encoded(pair.source, pair.tags, []) for pair in words])
    alone = [greedy(model, collate([pair]))[0] for pair in words]
    assert len({len(hypothesis.symbols) for hypothesis in alone}) > 3
    assert [hypothesis.symbols for hypothesis in found] == [own.symbols for own in alone]
    scores = [hypothesis.log_prob for hypothesis in found]
    assert scores == pytest.approx([own.log_prob for own in alone], abs=1e-4)


@systems
def test_log_likelihoods_come_in_the_order_asked(system: str, words: list[Encoded]):
    model = tiny_model(system)
    with torch.inference_mode():
        alone = [model.log_likelihood(collate([pair])).item() for pair in words]
    assert log_likelihoods(model, words) == pytest.approx(alone, abs=1e-9)


@systems
def test_symbols_of_each_pair_without_padding(system: str, words: list[Encoded]):
    model = tiny_model(system)
    found = symbol_log_likelihoods(model, words)
    for pair, row in zip(words, found, strict=True):
        own = model.symbol_log_likelihood(collate([pair]))[0].tolist()
        assert row == pytest.approx(own, abs=1e-9)
    totals = [sum(row) for row in found]
    assert log_likelihoods(model, words) == pytest.approx(totals, abs=1e-9)


@systems
@pytest.mark.parametrize("place", [0, 1, 3])
def test_nothing_comes_after_what_cannot_be_spelled(system: str, place: int):
    model = tiny_model(system)
    pair = random_pair(4, 4)
    odd = replace(pair, target=[*pair.target[:place], UNKNOWN, *pair.target[place:]])
    (found,) = symbol_log_likelihoods(model, [odd])
    assert len(found) == len(odd.target)
    assert found[place:] == [-math.inf] * (len(odd.target) - place)
    if system != "monotonic":  # whose aligner sees the whole target
        (known,) = symbol_log_likelihoods(model, [pair])
        assert found[:place] == pytest.approx(known[:place], abs=1e-9)
    assert log_likelihoods(model, [odd, pair])[0] == -math.inf


@systems
def test_alignments_come_in_the_order_asked_without_padding(system: str, words: list[Encoded]):
    model = tiny_model(system)
    for pair, weights in zip(words, alignments(model, words), strict=True):
        assert weights.shape == (len(pair.target), len(pair.source))
        own = model.align(collate([pair]))[0].detach().numpy()
        np.testing.assert_allclose(weights, own, rtol=0, atol=1e-9)


@pytest.mark.parametrize("system", ["hard-hmm", "hard-monotonic"])
def test_best_paths_come_in_the_order_asked_without_padding(system: str, words: list[Encoded]):
    model = tiny_model(system)
    for pair, path in zip(words, best_paths(model, words), strict=True):
        assert path == model.best_path(collate([pair]))[0].tolist()


@pytest.mark.parametrize(
    "answer", [predictions, log_likelihoods, symbol_log_likelihoods, alignments, best_paths]
)
def test_nothing_asked(answer: object):
    assert answer(tiny_model(), []) == []


def test_noise_close_to_1_draws_what_is_possible():
    model, pair = tiny_model("hard-monotonic", dtype=torch.float32), random_pair(4, 3)
    almost = np.full((4, 2), np.nextafter(1.0, 0.0))
    assert (sample_paths(model, pair, almost) == len(pair.source) - 1).all()
    assert (sample_paths(model, pair, np.zeros((4, 2))) == 0).all()


def test_batches_are_bounded(words: list[Encoded], monkeypatch: pytest.MonkeyPatch):
    sizes = []
    monkeypatch.setattr(inference, "collate", lambda p: sizes.append(collate(p)) or sizes[-1])
    log_likelihoods(tiny_model(), words)
    assert len(sizes) > 3
    assert all(batch.source.numel() <= 50 and batch.target.numel() <= 50 for batch in sizes)
