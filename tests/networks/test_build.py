"""Parameter counts, and what every system that can be built promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from string import ascii_lowercase

import pytest
import torch
from torch import Tensor

from conftest import random_pair, random_pairs, tiny_model, tiny_vocabulary, widened
from hardalign.config import SIZES, ModelConfig
from hardalign.data.vocabulary import BEGIN, END, RESERVED
from hardalign.decoding import greedy
from hardalign.errors import HardalignError
from hardalign.networks.batch import Batch, collate
from hardalign.networks.build import build_model
from hardalign.networks.transducer import Transducer
from hardalign.systems import SYSTEMS

systems = pytest.mark.parametrize("system", SYSTEMS)

CMUDICT = tiny_vocabulary("'" + ascii_lowercase, (), [f"P{k}" for k in range(39)])
NETTALK = tiny_vocabulary(ascii_lowercase, (), [f"P{k}" for k in range(51)])


@pytest.mark.parametrize("system", ["hard", "soft"])
@pytest.mark.parametrize(
    ("vocabulary", "size", "count"),
    [
        (CMUDICT, "small", 1_198_843),
        (CMUDICT, "large", 8_564_043),
        (NETTALK, "small", 1_207_155),
    ],
    ids=["cmudict-small", "cmudict-large", "nettalk-small"],
)
def test_parameter_counts_are_the_papers(system: str, vocabulary: object, size: str, count: int):
    with torch.device("meta"):
        model = build_model(replace(SIZES[size], system=system), vocabulary)
    assert sum(parameter.numel() for parameter in model.parameters()) == count


@pytest.mark.parametrize(
    ("system", "more"),
    [("hard-prior", 21), ("hard-hmm", 11 * 601), ("hard-monotonic", 11 * 601)],
)
def test_what_is_not_in_the_paper_is_hardly_larger_than_hard(system: str, more: int):
    with torch.device("meta"):
        model = build_model(replace(SIZES["small"], system=system), CMUDICT)
    assert sum(parameter.numel() for parameter in model.parameters()) == 1_198_843 + more


def test_no_such_system():
    with pytest.raises(HardalignError, match=r"no system is called 'hrad'; there are .*hard"):
        build_model(ModelConfig(system="hrad"), CMUDICT)


@systems
def test_the_same_seed_gives_the_same_model(system: str):
    batch = collate(random_pairs(3))
    first, second, other = (tiny_model(system, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.log_likelihood(batch), second.log_likelihood(batch))
    assert not torch.equal(first.log_likelihood(batch), other.log_likelihood(batch))


# Independence: a word's answers are its own, whatever stands beside it.

MATES = random_pairs(63, longest=20, seed=3)
PAIR = random_pair(5, 6, tags=2)
COMPANIES: dict[str, Callable[[], Batch]] = {
    "mates": lambda: collate([PAIR, *MATES]),
    "padding": lambda: widened([PAIR], 9),
    "noise": lambda: widened([PAIR], 9, seed=0),
    "mates and noise": lambda: widened([PAIR, *MATES], 3, seed=1),
}
companies = pytest.mark.parametrize("company", COMPANIES)


def assert_same_row(found: Tensor, alone: Tensor) -> None:
    """The first row, but for columns of padding, to 1e-5."""
    kept = tuple(slice(0, size) for size in alone.shape[1:])
    torch.testing.assert_close(found[0][kept], alone[0], rtol=0, atol=1e-5)


def taught(model: Transducer, batch: Batch) -> tuple[Tensor, Tensor]:
    """[B, I, V] log-probabilities and [B, I, J] weights of steps that are told the target."""
    state, previous = model.begin(batch), torch.full((len(batch),), BEGIN)
    log_probs, looked = [], []
    for i in range(len(PAIR.target)):
        step = model.step(state, previous)
        state, previous = step.state, batch.target[:, i].clamp(min=0)
        log_probs.append(step.log_probs)
        looked.append(step.alignment)
    return torch.stack(log_probs, 1), torch.stack(looked, 1)


@systems
@companies
def test_log_likelihood_is_a_words_own(system: str, company: str):
    model = tiny_model(system, dtype=torch.float32)
    alone, together = collate([PAIR]), COMPANIES[company]()
    assert_same_row(model.log_likelihood(together), model.log_likelihood(alone))


@systems
@companies
def test_alignment_is_a_words_own(system: str, company: str):
    model = tiny_model(system, dtype=torch.float32)
    alone, together = model.align(collate([PAIR])), model.align(COMPANIES[company]())
    assert_same_row(together, alone)
    assert not together[0, : alone.shape[1], alone.shape[2] :].any()
    sums = alone.sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))


@systems
@companies
def test_steps_are_a_words_own(system: str, company: str):
    model = tiny_model(system, dtype=torch.float32)
    alone, together = taught(model, collate([PAIR])), taught(model, COMPANIES[company]())
    for found, own in zip(together, alone, strict=True):
        assert_same_row(found, own)


@systems
@companies
def test_prediction_is_a_words_own(system: str, company: str):
    model = tiny_model(system, dtype=torch.float32)
    (alone,) = greedy(model, collate([PAIR]))
    together = greedy(model, COMPANIES[company]())[0]
    assert together.symbols == alone.symbols
    assert together.finished == alone.finished
    assert together.log_prob == pytest.approx(alone.log_prob, abs=1e-5)
    weights = together.alignment[:, : len(PAIR.source)]
    torch.testing.assert_close(weights, alone.alignment, rtol=0, atol=1e-5)
    assert not together.alignment[:, len(PAIR.source) :].any()


@systems
def test_gradient_is_a_words_own(system: str):
    model = tiny_model(system)
    parameters = list(model.parameters())
    alone = torch.autograd.grad(model.log_likelihood(collate([PAIR])).sum(), parameters)
    together = model.log_likelihood(COMPANIES["mates and noise"]())[0]
    for found, own in zip(torch.autograd.grad(together, parameters), alone, strict=True):
        torch.testing.assert_close(found, own, rtol=0, atol=1e-10)


# Stability: long words and extreme weights.


@systems
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0, 1000.0])
def test_losses_and_gradients_are_finite(system: str, training: bool, scale: float):
    torch.manual_seed(0)  # dropout
    model = tiny_model(system, scale=scale, dtype=torch.float32).train(training)
    # a chain takes |x|²·|y| exponentials
    longest = 98 if "chain" in SYSTEMS[system].attention else 298
    batch = collate([random_pair(longest, longest + 1), random_pair(2, 1), random_pair(0, 0)])
    loss = model.loss(batch)
    loss.sum().backward()
    assert loss.isfinite().all()
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


@systems
@pytest.mark.parametrize("name", ["score", "combine", "output"])
@pytest.mark.parametrize("size", [1e4, -1e4])
def test_one_extreme_part_keeps_losses_and_gradients_finite(system: str, name: str, size: float):
    model = tiny_model(system, dtype=torch.float32).train()
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if f".{name}." in parameter_name:
                parameter.mul_(size)
    loss = model.loss(collate(random_pairs(10)))
    loss.sum().backward()
    assert loss.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


# What can be produced.


@systems
@pytest.mark.parametrize("scale", [1.0, 3.0, 100.0])
def test_steps_are_distributions_over_the_end_and_the_letters(system: str, scale: float):
    model = tiny_model(system, scale=scale, dtype=torch.float32)
    log_probs, looked = taught(model, collate([PAIR]))
    assert log_probs.shape[-1] == 1 + 3 + (model.silent >= 0)  # never padding, begin, unknown
    ones = torch.ones(1, len(PAIR.target))
    torch.testing.assert_close(looked.sum(-1), ones)
    torch.testing.assert_close(log_probs.exp().sum(-1), ones)


@systems
@companies
def test_symbols_add_up_to_the_log_likelihood(system: str, company: str):
    model = tiny_model(system)
    batch = COMPANIES[company]()
    symbols = model.symbol_log_likelihood(batch)
    assert symbols.shape == batch.target.shape
    torch.testing.assert_close(symbols.sum(-1), model.log_likelihood(batch))
    assert (symbols[0, : len(PAIR.target)] < 0).all()
    assert (symbols[0, len(PAIR.target) :].abs() < 1e-12).all()
    assert_same_row(symbols, model.symbol_log_likelihood(collate([PAIR])))


@pytest.mark.parametrize("system", [k for k in SYSTEMS if k != "monotonic"])
def test_symbols_are_scored_as_steps_would_produce_them(system: str):
    model = tiny_model(system)
    batch = collate([PAIR])
    log_probs, _ = taught(model, batch)
    taken = log_probs.gather(-1, (batch.target - END).unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(model.symbol_log_likelihood(batch), taken)


@systems
def test_reserved_symbols_are_never_produced(system: str):
    model = tiny_model(system, dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("output.bias"):
                parameter[:RESERVED] += 1000.0  # the model would like nothing better
                parameter[RESERVED - 1] = -1000.0  # nor an end
    for hypothesis in greedy(model, collate(random_pairs(5))):
        assert hypothesis.symbols
        assert min(hypothesis.symbols) >= RESERVED
        assert max(hypothesis.symbols) < RESERVED + 3


@systems
def test_training_reaches_every_parameter(system: str):
    model = tiny_model(system).train()
    model.loss(collate(random_pairs(20))).sum().backward()
    unused = [name for name, p in model.named_parameters() if p.grad is None]
    assert not unused
