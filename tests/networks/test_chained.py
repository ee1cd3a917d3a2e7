from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor

import reference
from hardalign.data.vocabulary import END, RESERVED, Encoded
from hardalign.networks.attention import Reading
from hardalign.networks.batch import collate
from hardalign.networks.chained import ChainAttention
from hardalign.networks.transducer import Transducer
from helpers import random_pair, random_pairs, tiny_model, widened

MONOTONE = {"hard-hmm": False, "hard-monotonic": True}
systems = pytest.mark.parametrize("system", MONOTONE)
seeds = pytest.mark.parametrize("seed", [0, 1])
SHORT = [random_pair(x, y, seed=5 * x + y) for x, y in product(range(4), range(4))]
"""All lengths up to 3 letters: up to 5 source positions, 4 steps, 625 paths."""


def paths(model: Transducer, system: str, pair: Encoded) -> dict[tuple[int, ...], Tensor]:
    """Every path of positions and p(y, a | x)."""
    p = reference.parameters(model)
    found = dict(reference.chained_alignments(p, pair.source, pair.target, MONOTONE[system]))
    assert len(found) == len(pair.source) ** len(pair.target)
    return found


@seeds
@systems
def test_likelihood_and_gradient_are_those_of_all_paths(system: str, seed: int):
    model = tiny_model(system, seed=seed)
    wanted = [torch.stack(list(paths(model, system, pair).values())).sum().log() for pair in SHORT]
    expected, found = torch.stack(wanted), model.log_likelihood(collate(SHORT))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(found.sum(), parameters)
    for own, want in zip(gradients, torch.autograd.grad(expected.sum(), parameters), strict=True):
        torch.testing.assert_close(own, want, rtol=0, atol=1e-10)


@systems
def test_the_probabilities_of_all_strings_and_their_tails_sum_to_1(system: str):
    model = tiny_model(system)
    source, longest = random_pair(3, 0).source, 4
    letters = range(RESERVED, RESERVED + 3)
    strings = [s for length in range(longest) for s in product(letters, repeat=length)]
    ended = model.log_likelihood(collate([Encoded(source, 0, [*s, END]) for s in strings]))
    tails = [s for s in strings if len(s) == longest - 1]
    symbols = model.symbol_log_likelihood(collate([Encoded(source, 0, [*s, END]) for s in tails]))
    going_on = symbols[:, :-1].sum(1).exp() * (1 - symbols[:, -1].exp())
    assert float((ended.exp().sum() + going_on.sum()).detach()) == pytest.approx(1.0, abs=1e-10)


# What the chain adds to hard attention


def without_jumps(model: Transducer) -> Transducer:
    with torch.no_grad():
        model.get_parameter("head.attention.jump.weight").zero_()
        model.get_parameter("head.attention.jump.bias").zero_()
    return model


def test_without_jumps_it_is_hard():
    model, hard = tiny_model("hard-hmm"), tiny_model("hard")
    hard.load_state_dict({k: v for k, v in model.state_dict().items() if ".jump." not in k})
    batch = collate(random_pairs(20))
    expected = hard.symbol_log_likelihood(batch)
    assert (model.log_likelihood(batch) - expected.sum(1)).abs().min() > 1e-3
    found = without_jumps(model)
    torch.testing.assert_close(found.symbol_log_likelihood(batch), expected, rtol=0, atol=1e-10)


def transitions(model: Transducer, pairs: list[Encoded]) -> Tensor:
    """[B, I, J, J] p(a_i = j | a_{i-1} = k)."""
    attention = model.head.attention
    assert isinstance(attention, ChainAttention)
    batch = collate(pairs)
    reading = Reading.of(batch, model.encoder, attention)
    return attention.transitions(model.decoder(batch.target), reading.memory)(slice(None)).exp()


@systems
def test_transitions_equal_the_reference(system: str):
    model = tiny_model(system)
    pairs = [random_pair(9, 3, tags=1), random_pair(2, 5)]
    p = reference.parameters(model)
    for found, pair in zip(transitions(model, pairs), pairs, strict=True):
        encoded, decoded = reference.encode(p, pair.source), reference.decode(p, pair.target)
        for i, k in product(range(len(decoded)), range(len(encoded))):
            expected = reference.move(p, decoded[i], encoded, k, MONOTONE[system])
            own = found[i, k]
            torch.testing.assert_close(own[: len(encoded)], expected, rtol=0, atol=1e-12)
            assert not own[len(encoded) :].any()  # nothing leads to padding


def test_nothing_leads_back():
    model = tiny_model("hard-monotonic")
    pairs = random_pairs(10)
    for found, pair in zip(transitions(model, pairs), pairs, strict=True):
        own = found[: len(pair.target), : len(pair.source), : len(pair.source)]
        back = torch.ones_like(own[0], dtype=torch.bool).tril(-1)
        assert (own[:, back] == 0).all()
        assert (own[:, ~back] > 0).all()  # to stay and to skip is possible


@systems
def test_a_words_likelihood_is_its_own(system: str):
    model = tiny_model(system)
    pair = random_pair(5, 6, tags=2)
    alone = model.symbol_log_likelihood(collate([pair]))
    together = widened([pair, *random_pairs(20, longest=15)], 3, seed=0)
    found = model.symbol_log_likelihood(together)[:1, : len(pair.target)]
    torch.testing.assert_close(found, alone, rtol=0, atol=1e-10)


@systems
def test_training_is_exact(system: str):
    model = tiny_model(system, scale=10.0, dropout=0.0)
    batch = collate(random_pairs(30, longest=12))
    exact = model.log_likelihood(batch)
    trained = model.train().log_likelihood(batch)
    torch.testing.assert_close(trained, exact, rtol=0, atol=1e-10)
