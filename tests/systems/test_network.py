"""Parameter counts, and what every system that can be built promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from string import ascii_lowercase

import pytest
import torch
from torch import Tensor

from hardalign.config import SIZES, ModelConfig
from hardalign.data.vocabulary import RESERVED, Encoded
from hardalign.errors import HardalignError
from hardalign.systems import SYSTEMS
from hardalign.systems.network import Batch, Network, collate
from hardalign.systems.ops import torch_kernels as kernels
from helpers import random_pair, random_pairs, tiny_model, tiny_vocabulary, widened

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
        model = Network(replace(SIZES[size], system=system), vocabulary)
    assert sum(parameter.numel() for parameter in model.parameters()) == count


@pytest.mark.parametrize(
    ("system", "more"),
    [("hard-prior", 21), ("hard-hmm", 11 * 601), ("hard-monotonic", 11 * 601)],
)
def test_what_is_not_in_the_paper_is_hardly_larger_than_hard(system: str, more: int):
    with torch.device("meta"):
        model = Network(replace(SIZES["small"], system=system), CMUDICT)
    assert sum(parameter.numel() for parameter in model.parameters()) == 1_198_843 + more


def test_no_such_system():
    with pytest.raises(HardalignError, match=r"no system is called 'hrad'; there are .*hard"):
        Network(ModelConfig(system="hrad"), CMUDICT)


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


@systems
@companies
def test_log_likelihood_is_a_words_own(system: str, company: str):
    model = tiny_model(system, dtype=torch.float32)
    alone, together = collate([PAIR]), COMPANIES[company]()
    assert_same_row(model.log_likelihood(together), model.log_likelihood(alone))


@systems
def test_gradient_is_a_words_own(system: str):
    model = tiny_model(system)
    parameters = list(model.parameters())
    alone = torch.autograd.grad(model.log_likelihood(collate([PAIR])).sum(), parameters)
    together = model.log_likelihood(COMPANIES["mates and noise"]())[0]
    for found, own in zip(torch.autograd.grad(together, parameters), alone, strict=True):
        torch.testing.assert_close(found, own, rtol=0, atol=1e-10)


def training_gradient(model: Network, pairs: Sequence[Encoded]) -> list[Tensor]:
    """Of the sum of the losses."""
    return list(torch.autograd.grad(model.loss(collate(pairs)).sum(), list(model.parameters())))


def from_mates(model: Network) -> float:
    """How far a batch's training gradient is from the sum of its words' own, relatively."""
    pairs = random_pairs(12, longest=10, seed=4)
    words = zip(*(training_gradient(model, [pair]) for pair in pairs), strict=True)
    blocks = zip(training_gradient(model, pairs), words, strict=True)
    return max(
        float((block - sum(own)).abs().max() / max(1.0, float(block.abs().max())))
        for block, own in blocks
    )


@pytest.mark.parametrize(
    "system", [name for name, row in SYSTEMS.items() if row.model.objective == "likelihood"]
)
@pytest.mark.parametrize("scale", [1.0, 3.0, 10.0])
def test_training_gradient_is_the_sum_of_the_words_own(system: str, scale: float):
    """In training mode, where positions are left out by the tolerances that training has."""
    assert from_mates(tiny_model(system, scale=scale, dropout=0.0).train()) < 1e-11


@pytest.mark.parametrize("system", ["hard", "hard-monotonic"])
def test_a_gradient_that_depends_on_mates_would_be_found_out(
    system: str, monkeypatch: pytest.MonkeyPatch
):
    real = kernels._considerable
    monkeypatch.setattr(  # as if all cells were of one word
        kernels, "_considerable", lambda grad, word, cut: real(grad, torch.zeros_like(word), cut)
    )
    assert from_mates(tiny_model(system, scale=10.0, dropout=0.0).train()) > 1e-9


@systems
@pytest.mark.parametrize("kind", ["dropout", "state_dropout", "symbol_dropout", "unk_dropout"])
def test_every_kind_of_dropout_is_for_training_alone(system: str, kind: str):
    batch = collate(random_pairs(6, seed=5))
    shares = {"dropout": 0.0, "state_dropout": 0.0, "symbol_dropout": 0.0, "unk_dropout": 0.0}
    whole, left_out = tiny_model(system, **shares), tiny_model(system, **{**shares, kind: 0.5})
    expected = whole.log_likelihood(batch)
    assert left_out.log_likelihood(batch).equal(expected)
    assert whole.train().log_likelihood(batch).equal(left_out.eval().log_likelihood(batch))
    torch.manual_seed(0)
    assert not left_out.train().log_likelihood(batch).allclose(expected)


# Stability: long words and extreme weights.


@systems
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0, 1000.0])
def test_losses_and_gradients_are_finite(system: str, training: bool, scale: float):
    torch.manual_seed(0)  # dropout
    model = tiny_model(system, scale=scale, dtype=torch.float32).train(training)
    # Even where all symbols are equally probable, such a word is less so than float32 can say.
    batch = collate([random_pair(98, 99), random_pair(2, 1), random_pair(0, 0)])
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
@companies
def test_symbols_add_up_to_the_log_likelihood(system: str, company: str):
    model = tiny_model(system)
    batch = COMPANIES[company]()
    symbols = model.symbol_log_likelihood(batch)
    assert symbols.shape == batch.targets.symbols.shape
    torch.testing.assert_close(symbols.sum(-1), model.log_likelihood(batch))
    assert (symbols[0, : len(PAIR.target)] < 0).all()
    assert (symbols[0, len(PAIR.target) :].abs() < 1e-12).all()
    assert_same_row(symbols, model.symbol_log_likelihood(collate([PAIR])))


@systems
def test_reserved_symbols_take_no_part(system: str):
    model = tiny_model(system)
    batch = collate(random_pairs(5))
    before = model.log_likelihood(batch)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("output.bias"):
                parameter[: RESERVED - 1] += 1000.0  # padding, begin, unknown
    assert torch.equal(model.log_likelihood(batch), before)


@systems
def test_training_reaches_every_parameter(system: str):
    model = tiny_model(system).train()
    model.loss(collate(random_pairs(20))).sum().backward()
    unused = [name for name, p in model.named_parameters() if p.grad is None]
    assert not unused
