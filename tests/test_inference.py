from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from conftest import random_pairs, tiny_model
from hardalign import inference
from hardalign.data.batching import Encoded, collate
from hardalign.inference import alignments, log_likelihoods, predictions
from hardalign.models.systems import SYSTEMS
from hardalign.search import greedy

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
def test_alignments_come_in_the_order_asked_without_padding(system: str, words: list[Encoded]):
    model = tiny_model(system)
    for pair, weights in zip(words, alignments(model, words), strict=True):
        assert weights.shape == (len(pair.target), len(pair.source))
        own = model.align(collate([pair]))[0].detach().numpy()
        np.testing.assert_allclose(weights, own, rtol=0, atol=1e-9)


@pytest.mark.parametrize("answer", [predictions, log_likelihoods, alignments])
def test_nothing_asked(answer: object):
    assert answer(tiny_model(), []) == []


def test_batches_are_bounded(words: list[Encoded], monkeypatch: pytest.MonkeyPatch):
    sizes = []
    monkeypatch.setattr(inference, "collate", lambda p: sizes.append(collate(p)) or sizes[-1])
    log_likelihoods(tiny_model(), words)
    assert len(sizes) > 3
    assert all(batch.source.numel() <= 50 and batch.target.numel() <= 50 for batch in sizes)
