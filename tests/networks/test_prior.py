from __future__ import annotations

import torch

import reference
from hardalign.data.vocabulary import END
from hardalign.networks.batch import collate
from hardalign.networks.transducer import Transducer
from hardalign.sizes import PRIOR_REACH
from helpers import random_pair, random_pairs, tiny_model

PAIRS = [*random_pairs(12, longest=7, seed=1), random_pair(14, 13, tags=1)]


def biased_model() -> Transducer:
    """A model whose biases, zero at first, are far from it."""
    model = tiny_model("hard-prior")
    bias = model.get_parameter("head.attention.bias")
    with torch.no_grad():
        bias.copy_(3 * torch.randn(len(bias), generator=torch.Generator().manual_seed(0)))
    return model


def expected(model: Transducer) -> list[list[torch.Tensor]]:
    p = reference.parameters(model)
    return [reference.prior_distributions(p, q.source, q.tags, q.target) for q in PAIRS]


def test_symbols_equal_the_reference():
    model = biased_model()
    found = model.symbol_log_likelihood(collate(PAIRS))
    for row, pair, distributions in zip(found, PAIRS, expected(model), strict=True):
        steps = zip(distributions, pair.target, strict=True)
        wanted = torch.stack([distribution[n - END].log() for distribution, n in steps])
        torch.testing.assert_close(row[: len(pair.target)], wanted, rtol=0, atol=1e-10)


def test_without_biases_it_is_hard():
    model, hard = tiny_model("hard-prior"), tiny_model("hard")  # as they are when training begins
    bias = "head.attention.bias"
    hard.load_state_dict({k: v for k, v in model.state_dict().items() if k != bias})
    batch = collate(PAIRS)
    torch.testing.assert_close(model.log_likelihood(batch), hard.log_likelihood(batch))
    biased = biased_model().log_likelihood(batch)
    assert (biased - hard.log_likelihood(batch)).abs().min() > 1e-3


def test_far_is_far():
    model = biased_model()
    bias = model.get_parameter("head.attention.bias")
    pair = random_pair(30, 0)
    model.log_likelihood(collate([pair])).sum().backward()
    assert len(bias) == 2 * PRIOR_REACH + 1
    gradient = bias.grad
    assert gradient is not None
    assert gradient[PRIOR_REACH - 1 :].all()  # from begin, one behind, to all letters far ahead
    assert not gradient[: PRIOR_REACH - 1].any()
