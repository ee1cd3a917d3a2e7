from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor, nn

import reference
from hardalign.data.vocabulary import Encoded
from hardalign.networks import unfed
from hardalign.networks.batch import collate
from hardalign.ops.layer import Tolerance
from helpers import random_pair, random_pairs, tiny_model

SHORT = [random_pair(x, y, seed=5 * x + y) for x, y in product(range(5), range(5))]
"""All lengths up to 4 letters: up to 6 source positions, 5 steps, 7,776 alignments."""
seeds = pytest.mark.parametrize("seed", [0, 1])


def gradients(value: Tensor, model: nn.Module) -> dict[str, Tensor]:
    found = torch.autograd.grad(value, list(model.parameters()))
    names = [name for name, _ in model.named_parameters()]
    return dict(zip(names, found, strict=True))


def assert_same_gradients(value: Tensor, expected: Tensor, model: nn.Module, atol: float) -> None:
    found, wanted = gradients(value, model), gradients(expected, model)
    for name, gradient in found.items():
        torch.testing.assert_close(
            gradient, wanted[name], rtol=0, atol=atol, msg=lambda m, name=name: f"{name}: {m}"
        )


def brute_force(model: nn.Module, pair: Encoded) -> Tensor:
    p = reference.parameters(model)
    terms = [probability for _, probability in reference.alignments(p, pair.source, pair.target)]
    assert len(terms) == len(pair.source) ** len(pair.target)
    return torch.stack(terms).sum().log()


@seeds
@pytest.mark.parametrize("pair", SHORT, ids=lambda p: f"x{len(p.source)}-y{len(p.target)}")
def test_sums_over_all_alignments(pair: Encoded, seed: int):
    model = tiny_model("hard", seed=seed)
    (found,) = model.log_likelihood(collate([pair]))
    expected = brute_force(model, pair)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    assert_same_gradients(found, expected, model, 1e-10)


@seeds
def test_a_batch_has_the_gradient_of_its_alignments(seed: int):
    model = tiny_model("hard", seed=seed, encoder_layers=2, decoder_layers=2)
    pairs = [pair for pair in SHORT if len(pair.source) ** len(pair.target) < 700]
    found = model.log_likelihood(collate(pairs)).sum()
    expected = torch.stack([brute_force(model, pair) for pair in pairs]).sum()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    assert_same_gradients(found, expected, model, 1e-10)


@pytest.mark.parametrize("scale", [1.0, 3.0, 30.0])
def test_training_is_exact_within_its_tolerance(scale: float):
    model = tiny_model("hard", scale=scale, dropout=0.0)
    pairs = random_pairs(30, longest=12)
    batch = collate(pairs)
    exact = model.log_likelihood(batch)
    model.train()
    trained = model.log_likelihood(batch)
    allowed = 1.01 * unfed.TRAINING.value * batch.target_lengths
    assert ((exact - trained).abs() <= allowed).all()
    wanted = gradients(exact.mean(), model)
    for name, gradient in gradients(trained.mean(), model).items():
        largest = max(1.0, float(wanted[name].abs().max()))
        torch.testing.assert_close(gradient, wanted[name], rtol=0, atol=1e-3 * largest)


def test_training_uses_the_tolerance(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(unfed, "TRAINING", Tolerance(0.5, 0.5))
    model = tiny_model("hard", scale=10.0, dropout=0.0)
    batch = collate(random_pairs(30, longest=12))
    exact = model.log_likelihood(batch)
    model.train()
    assert (exact - model.log_likelihood(batch)).abs().max() > 1e-4
