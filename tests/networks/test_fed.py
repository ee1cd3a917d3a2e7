from __future__ import annotations

import pytest
import torch

import reference
from conftest import random_pair, random_pairs, tiny_model, widened
from hardalign.data.vocabulary import BEGIN, END
from hardalign.decoding import greedy
from hardalign.networks.batch import collate
from hardalign.networks.fed import FedState, FedTransducer

SOFT = ["soft-feed", "soft-feed-large"]
FED = [*SOFT, "hard-feed"]
systems = pytest.mark.parametrize("system", FED)
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
def test_log_likelihood_equals_the_reference(system: str, layers: int, seed: int):
    model = fed_model(system, seed=seed, decoder_layers=layers)
    pairs = random_pairs(8, seed=seed)
    p = reference.parameters(model)
    expected = [reference.fed_log_likelihood(p, system, e.source, e.target) for e in pairs]
    assert_equals(model.log_likelihood(collate(pairs)), torch.stack(expected))


@pytest.mark.parametrize("system", SOFT)
@layers
def test_gradient_equals_that_of_the_reference(system: str, layers: int):
    model = fed_model(system, decoder_layers=layers)
    pairs = random_pairs(6)
    p = reference.parameters(model)
    expected = [reference.fed_log_likelihood(p, system, e.source, e.target) for e in pairs]
    parameters = list(model.parameters())
    wanted = torch.autograd.grad(torch.stack(expected).sum(), parameters)
    assert_equals(torch.autograd.grad(-model.loss(collate(pairs)).sum(), parameters), wanted)


@systems
@layers
def test_steps_equal_the_reference_and_add_up(system: str, layers: int):
    model = fed_model(system, decoder_layers=layers)
    pairs = random_pairs(6, seed=3)
    p = reference.parameters(model)
    for pair in pairs:
        batch = collate([pair])
        state, previous, total = model.begin(batch), BEGIN, 0.0
        wanted = reference.fed_distributions(p, system, pair.source, pair.target)
        for number, distribution in zip(pair.target, wanted, strict=True):
            step = model.step(state, torch.tensor([previous]))
            assert_equals(step.log_probs[0].exp(), distribution)
            assert_equals(step.log_probs.logsumexp(-1), torch.zeros(1, dtype=torch.float64))
            assert_equals(step.alignment.sum(-1), torch.ones(1, dtype=torch.float64))
            total += step.log_probs[0, number - END]
            state, previous = step.state, number
        assert_equals(total, model.log_likelihood(batch)[0])


@systems
def test_alignment_equals_the_reference(system: str):
    model = fed_model(system)
    pairs = random_pairs(6, seed=4)
    p = reference.parameters(model)
    found = model.align(collate(pairs))
    for row, pair in zip(found, pairs, strict=True):
        wanted = reference.fed_alignment(p, system, pair.source, pair.target)
        assert_equals(row[: len(pair.target), : len(pair.source)], wanted)
        assert not row[: len(pair.target), len(pair.source) :].any()


@systems
def test_neither_padding_nor_batch_mates_matter(system: str):
    model = fed_model(system)
    pairs = random_pairs(7, seed=5)
    alone = torch.cat([model.log_likelihood(collate([pair])) for pair in pairs])
    assert_equals(model.log_likelihood(collate(pairs)), alone)
    assert_equals(model.log_likelihood(widened(pairs, 3, seed=1)), alone)


@systems
def test_a_state_can_be_selected_from(system: str):
    model = fed_model(system, decoder_layers=2)
    batch = collate(random_pairs(4, seed=6))
    state = model.step(model.begin(batch), torch.full((4,), BEGIN)).state
    assert isinstance(state, FedState)
    previous = torch.tensor([4, 5, 6, 4])
    rows = torch.tensor([2, 0, 2])
    whole = model.step(state, previous)
    part = model.step(state.select(rows), previous[rows])
    assert_equals(part.log_probs, whole.log_probs[rows])
    assert_equals(part.alignment, whole.alignment[rows])
    assert part.state.fed.shape == (3, state.fed.shape[1])


@systems
def test_search_scores_what_the_model_scores(system: str):
    model = fed_model(system, dtype=torch.float32)
    pairs = random_pairs(5, seed=7)
    for pair, found in zip(pairs, greedy(model, collate(pairs)), strict=True):
        if found.finished:
            said = type(pair)(pair.source, pair.tags, [*found.symbols, END])
            score = model.log_likelihood(collate([said]))
            assert_equals(torch.tensor(found.log_prob).double(), score[0].detach().double(), 1e-4)


@systems
def test_the_decoder_sees_what_attention_saw(system: str):
    """Another c̄ after the same symbols gives another distribution, unlike without feeding."""
    model = fed_model(system)
    batch = collate([random_pair(3, 2)])
    state = model.step(model.begin(batch), torch.tensor([BEGIN])).state
    other = FedState(state.memory, state.hidden, -state.fed)
    previous = torch.tensor([4])
    change = model.step(other, previous).log_probs - model.step(state, previous).log_probs
    assert change.abs().max() > 1e-3


def test_hard_feed_decodes_by_one_position_and_soft_by_all():
    hard, soft = fed_model("hard-feed"), fed_model("soft-feed")
    weights = hard.head.choose(torch.tensor([[[0.2, 0.5, 0.3]]]).log())
    assert weights.tolist() == [[[0.0, 1.0, 0.0]]]
    assert_equals(
        soft.head.choose(torch.tensor([0.2, 0.5, 0.3]).log()), torch.tensor([0.2, 0.5, 0.3]), 1e-6
    )


@systems
def test_dropout_acts_in_training_alone(system: str):
    model = fed_model(system, decoder_layers=2)
    batch = collate(random_pairs(4, seed=8))
    assert model.log_likelihood(batch).equal(model.log_likelihood(batch))
    model.train()
    torch.manual_seed(0)
    assert not model.log_likelihood(batch).equal(model.log_likelihood(batch))
