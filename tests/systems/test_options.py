"""Positions that may emit their own symbols, and tags beside words, against plain sums."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor, nn

import reference
from hardalign.config import ModelConfig
from hardalign.data.vocabulary import END, Encoded
from hardalign.errors import HardalignError
from hardalign.systems.network import Network, collate
from helpers import (
    BESIDE,
    COPYING,
    TINY,
    copied,
    random_pair,
    random_pairs,
    spelled_alike,
    tiny_model,
    tiny_vocabulary,
    widened,
)

VOCABULARY = spelled_alike(TINY)
SHORT = [
    random_pair(x, y, seed=5 * x + y, tags=x % 2, vocabulary=VOCABULARY)
    for x, y in product(range(4), range(3))
]
systems = pytest.mark.parametrize("system", COPYING)


def copying_model(system: str, **options: float) -> nn.Module:
    return tiny_model(system, VOCABULARY, **options)


def likelihood(model: nn.Module, system: str, pair: Encoded) -> Tensor:
    """log Σ_a Π_i p(a_i | …) p(y_i | a_i), one alignment after the other."""
    p, own = reference.parameters(model), copied(system)
    encoded, decoded = reference.encode(p, pair.source), reference.decode(p, pair.target)
    moves, said = [], []
    for i, (h, number) in enumerate(zip(decoded, pair.target, strict=True)):
        if "attention.jump" in " ".join(p):
            monotone = "monotonic" in system
            rows = [reference.move(p, h, encoded, k, monotone) for k in range(len(encoded))]
        elif "prior" in system:
            rows = [reference.prior_attention(p, h, encoded, pair.tags, i)] * len(encoded)
        else:
            rows = [reference.attention(p, h, encoded)] * len(encoded)
        moves.append(rows)
        sources = zip(encoded, pair.source, strict=True)
        emitted = [reference.emission(p, h, e, own.get(x)) for e, x in sources]
        said.append([one[number - END] for one in emitted])
    terms = []
    for a in product(range(len(encoded)), repeat=len(decoded)):
        steps = enumerate(zip((0, *a), a, strict=False))
        terms.append(torch.stack([moves[i][k][j] * said[i][j] for i, (k, j) in steps]).prod())
    return torch.stack(terms).sum().log()


@systems
def test_likelihood_and_gradient_are_those_of_all_alignments(system: str) -> None:
    model = copying_model(system)
    expected = torch.stack([likelihood(model, system, pair) for pair in SHORT])
    found = model.log_likelihood(collate(SHORT))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(found.sum(), parameters)
    wanted = torch.autograd.grad(expected.sum(), parameters)
    for own, want in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(own, want, rtol=0, atol=1e-10)


@pytest.mark.parametrize("system", [*COPYING, *BESIDE])
def test_a_pairs_loss_is_its_own(system: str) -> None:
    model, pairs = copying_model(system), random_pairs(12, vocabulary=VOCABULARY)
    together = model.log_likelihood(widened(pairs, 3, seed=1))
    alone = torch.cat([model.log_likelihood(collate([pair])) for pair in pairs])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-10)


@systems
def test_training_leaves_out_next_to_nothing(system: str) -> None:
    model = copying_model(system, dropout=0.0)
    batch = collate(random_pairs(20, longest=12, vocabulary=VOCABULARY))
    exact = model.log_likelihood(batch)
    trained = model.train().log_likelihood(batch)
    assert ((exact - trained).abs() <= 1.01e-6 * batch.targets.lengths).all()


@systems
def test_where_no_symbol_is_on_both_sides_nothing_changes(system: str) -> None:
    batch = collate(random_pairs(12))
    copying, without = tiny_model(system), tiny_model(system.split()[0])
    assert copying.state_dict().keys() == without.state_dict().keys()
    assert torch.equal(copying.log_likelihood(batch), without.log_likelihood(batch))


def test_a_gate_that_is_shut_changes_nothing_and_one_that_is_open_copies() -> None:
    model, without = copying_model("hard copying"), tiny_model("hard", VOCABULARY)
    weights = {k: v for k, v in model.state_dict().items() if ".gate." not in k}
    without.load_state_dict(weights)
    batch = collate(random_pairs(12, vocabulary=VOCABULARY))
    with torch.no_grad():
        model.get_parameter("head.attention.gate.weight").zero_()
        model.get_parameter("head.attention.gate.bias").fill_(-800.0)
        torch.testing.assert_close(model.log_likelihood(batch), without.log_likelihood(batch))
        model.get_parameter("head.attention.gate.bias").fill_(800.0)
    # At a letter that is on both sides nothing else is emitted, without a nan in any gradient.
    (letter, target), *_ = copied("copying").items()
    pair = Encoded([1, letter, 3], 0, [target, target, END])
    loss = -model.log_likelihood(collate([pair])).sum()
    loss.backward()
    assert all(one.grad.isfinite().all() for one in model.parameters() if one.grad is not None)


@pytest.mark.parametrize("system", ["soft", "soft-feed", "hard-feed", "monotonic"])
def test_other_systems_cannot_copy(system: str) -> None:
    with pytest.raises(
        HardalignError, match=f"{system} cannot copy; the systems that can are hard"
    ):
        Network(ModelConfig(system, copying=True), tiny_vocabulary())


def test_where_there_are_no_tags_none_are_beside() -> None:
    untagged = tiny_vocabulary(tags=())
    batch = collate(random_pairs(12, vocabulary=untagged))
    beside, inside = tiny_model("hard-hmm beside", untagged), tiny_model("hard-hmm", untagged)
    assert torch.equal(beside.log_likelihood(batch), inside.log_likelihood(batch))


def test_the_gradient_reaches_tags_beside_words() -> None:
    model, (noun, verb) = tiny_model("hard-hmm beside"), TINY.source.encode((), ("N", "V"))
    pair = Encoded([1, noun, 4, 5, 3], 1, [4, 5, END])
    model.log_likelihood(collate([pair, random_pair(9, 9)])).sum().backward()
    gradient = model.get_parameter("encoder.embedding.weight").grad
    assert gradient is not None
    assert gradient[noun].abs().max() > 1e-3
    assert not gradient[verb].any()


@pytest.mark.parametrize("system", ["soft-feed", "hard-feed", "monotonic"])
def test_in_other_systems_tags_cannot_be_beside(system: str) -> None:
    with pytest.raises(HardalignError, match=f"{system} cannot have tags beside .* hard, soft"):
        Network(ModelConfig(system, tags="beside"), tiny_vocabulary())
