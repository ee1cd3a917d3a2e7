from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
import torch
from torch import Tensor

import reference
from conftest import random_pair, random_pairs, tiny_model, widened
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, END, RESERVED
from hardalign.networks.batch import collate
from hardalign.networks.chained import ChainTransducer
from hardalign.networks.transducer import Transducer

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


@seeds
@systems
def test_the_posterior_is_the_share_of_the_paths_with_a_link(system: str, seed: int):
    model = tiny_model(system, seed=seed)
    found = model.align(collate([*SHORT, random_pair(7, 8)]))
    for row, pair in zip(found, SHORT, strict=False):
        expected = torch.zeros(len(pair.target), len(pair.source), dtype=torch.float64)
        for a, probability in paths(model, system, pair).items():
            for i, j in enumerate(a):
                expected[i, j] += probability.detach()
        expected /= expected.sum(1, keepdim=True)
        row = row[: len(pair.target)]
        torch.testing.assert_close(row[:, : len(pair.source)], expected, rtol=0, atol=1e-10)
        assert not row[:, len(pair.source) :].any()


@seeds
@systems
def test_the_best_path_is_the_most_probable(system: str, seed: int):
    model = tiny_model(system, seed=seed)
    found = model.best_path(collate([*SHORT, random_pair(7, 8)]))
    for row, pair in zip(found, SHORT, strict=False):
        every = paths(model, system, pair)
        assert tuple(row[: len(pair.target)].tolist()) == max(every, key=lambda a: every[a].item())


@systems
def test_alignments_are_drawn_as_often_as_they_are_probable(system: str):
    model, draws = tiny_model(system, scale=1.0), 20_000
    assert isinstance(model, ChainTransducer)
    pair, longer = random_pair(1, 1), random_pair(2, 3)
    noise = torch.rand(2, 4, draws, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        drawn = model.sample_paths(collate([longer, pair]), noise)
    found = Counter(map(tuple, drawn[1, :2].T.tolist()))
    every = {a: p.item() for a, p in paths(model, system, pair).items()}
    for a, probability in every.items():
        share = probability / sum(every.values())
        error = 4.5 * (share * (1 - share) / draws) ** 0.5  # of 9 paths, once in 15,000 runs
        assert abs(found[a] / draws - share) <= error


@systems
def test_steps_sum_over_the_paths_of_the_prefix(system: str):
    model = tiny_model(system)
    pair = random_pair(2, 3)
    state, previous, before = model.begin(collate([pair])), torch.tensor([BEGIN]), 1.0
    for i, number in enumerate(pair.target):
        step = model.step(state, previous)
        looked = torch.zeros(len(pair.source), dtype=torch.float64)
        for k in range(4):
            prefix = Encoded(pair.source, 0, [*pair.target[:i], END + k])
            joint = {a: float(p.detach()) for a, p in paths(model, system, prefix).items()}
            expected = sum(joint.values()) / before
            assert step.log_probs[0, k].exp().item() == pytest.approx(expected, abs=1e-10)
            for a, probability in joint.items():  # summed over the symbol, that was not seen yet
                looked[a[-1]] += probability / before
        torch.testing.assert_close(step.alignment[0].detach(), looked, rtol=0, atol=1e-10)
        state, previous = step.state, torch.tensor([number])
        before *= step.log_probs[0, number - END].exp().item()


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
    steps = torch.arange(batch.target.shape[1]) < batch.target_lengths.unsqueeze(1)
    aligned, wanted = (m.align(batch).masked_fill(~steps.unsqueeze(2), 0) for m in (found, hard))
    torch.testing.assert_close(aligned, wanted, rtol=0, atol=1e-10)


def transitions(model: Transducer, pairs: list[Encoded]) -> Tensor:
    """[B, I, J, J] p(a_i = j | a_{i-1} = k)."""
    assert isinstance(model, ChainTransducer)
    decoded, memory, _, _ = model._read(collate(pairs))
    return model.head.attention.log_transition(decoded, memory).exp()


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
    batch = collate(pairs)
    for path, length in zip(model.best_path(batch).tolist(), batch.target_lengths, strict=True):
        assert path[:length] == sorted(path[:length])


def test_nothing_leads_back_in_a_search():
    model = tiny_model("hard-monotonic", scale=20.0)
    batch = collate(random_pairs(6))
    state, previous = model.begin(batch), torch.full((6,), BEGIN)
    left_behind = torch.zeros_like(batch.source, dtype=torch.bool)
    for i in range(batch.target.shape[1]):
        step = model.step(state, previous)
        assert not step.alignment[left_behind].any()
        state, previous = step.state, batch.target[:, i].clamp(min=END)
        reached = (step.alignment > 0).byte().argmax(1, keepdim=True)
        left_behind = torch.arange(batch.source.shape[1]) < reached


@systems
def test_a_words_likelihood_is_its_own(system: str):
    model = tiny_model(system)
    pair = random_pair(5, 6, tags=2)
    alone, posterior = model.symbol_log_likelihood(collate([pair])), model.align(collate([pair]))
    path = model.best_path(collate([pair]))
    together = widened([pair, *random_pairs(20, longest=15)], 3, seed=0)
    found = model.symbol_log_likelihood(together)[:1, : len(pair.target)]
    torch.testing.assert_close(found, alone, rtol=0, atol=1e-10)
    found = model.align(together)[:1, : len(pair.target), : len(pair.source)]
    torch.testing.assert_close(found, posterior, rtol=0, atol=1e-10)
    assert torch.equal(model.best_path(together)[:1, : len(pair.target)], path)


@systems
def test_training_is_exact(system: str):
    model = tiny_model(system, scale=10.0, dropout=0.0)
    batch = collate(random_pairs(30, longest=12))
    exact = model.log_likelihood(batch)
    trained = model.train().log_likelihood(batch)
    torch.testing.assert_close(trained, exact, rtol=0, atol=1e-10)
