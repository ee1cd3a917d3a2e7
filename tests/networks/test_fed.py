from __future__ import annotations

import pytest
import torch
from torch import Tensor

import reference
from hardalign.networks.attention import Reading
from hardalign.networks.batch import collate
from hardalign.networks.fed import FedTransducer
from helpers import random_pair, random_pairs, tiny_model

SOFT = ["soft-feed", "soft-feed-large"]
HARD = ["hard-feed", "hard-feed-reinforce"]
systems = pytest.mark.parametrize("system", [*SOFT, *HARD])
layers = pytest.mark.parametrize("layers", [1, 2])


def fed_model(system: str, **options) -> FedTransducer:
    model = tiny_model(system, **options)
    assert isinstance(model, FedTransducer)
    return model


def assert_equals(found, expected, atol: float = 1e-10) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=atol)


@systems
@layers
@pytest.mark.parametrize("seed", [0, 1])
def test_log_likelihood_and_gradient_equal_the_reference(system: str, layers: int, seed: int):
    model = fed_model(system, seed=seed, decoder_layers=layers)
    pairs = random_pairs(8, seed=seed)
    p = reference.parameters(model)
    expected = [reference.fed_log_likelihood(p, system, e.source, e.target) for e in pairs]
    found = model.log_likelihood(collate(pairs))
    assert_equals(found, torch.stack(expected))
    parameters = list(model.parameters())
    wanted = torch.autograd.grad(torch.stack(expected).sum(), parameters)
    assert_equals(torch.autograd.grad(found.sum(), parameters), wanted)


@pytest.mark.parametrize("system", SOFT)
def test_soft_attention_is_trained_by_its_likelihood(system: str):
    model = fed_model(system)
    batch = collate(random_pairs(8))
    assert_equals(model.loss(batch), -model.log_likelihood(batch), 1e-12)


def fed_back(model: FedTransducer, pairs: list) -> Tensor:
    """[B, I, J] the weights of what is fed back when decoding."""
    batch = collate(pairs)
    reading = Reading.of(batch, model.encoder, model.head.attention)
    return model.follow(batch.target, reading, model.head.rule(reading)).weights.squeeze(2)


@pytest.mark.parametrize("system", HARD)
def test_hard_attention_feeds_back_one_position(system: str):
    model = fed_model(system)
    weights = fed_back(model, random_pairs(8))
    assert torch.equal(weights.sort(-1).values[..., -1], torch.ones(weights.shape[:2]).double())
    assert torch.equal(weights.sum(-1), torch.ones(weights.shape[:2]).double())


def test_the_position_is_chosen_before_the_symbol_is_known_or_given_it():
    """Other symbols change what hard-feed feeds back, and not what the paper's system does."""
    first, second = fed_model("hard-feed"), fed_model("hard-feed-reinforce")
    second.load_state_dict({**second.state_dict(), **first.state_dict()})
    pairs = [random_pair(4, 0, seed=seed) for seed in range(30)]
    changed = [type(pair)(pair.source, pair.tags, [4, 3]) for pair in pairs]
    given, before = ((fed_back(m, pairs), fed_back(m, changed)) for m in (first, second))
    assert not torch.equal(given[0][:, 0], given[1][:, 0])
    assert torch.equal(before[0][:, 0], before[1][:, 0])


@systems
def test_the_decoder_sees_what_attention_saw(system: str):
    """Another c̄ after the same symbols gives another distribution, unlike without feeding."""
    model = fed_model(system)
    batch = collate([random_pair(3, 2)])
    before = model.symbol_log_likelihood(batch)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("combine.weight"):  # of c̄ alone, were it not for W
                parameter.neg_()
            if name.endswith(("combine.bias", "output.weight")):
                parameter.neg_()
    change = model.symbol_log_likelihood(batch) - before
    assert change[0, 0].abs() < 1e-12  # tanh and W turn over together
    assert change[0, 1:].abs().max() > 1e-3


@systems
def test_dropout_acts_in_training_alone(system: str):
    model = fed_model(system, decoder_layers=2)
    batch = collate(random_pairs(4, seed=8))
    assert model.log_likelihood(batch).equal(model.log_likelihood(batch))
    model.train()
    torch.manual_seed(0)
    assert not model.log_likelihood(batch).equal(model.log_likelihood(batch))
