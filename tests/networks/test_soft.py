from __future__ import annotations

import pytest
import torch

import reference
from hardalign.networks.batch import collate
from helpers import random_pairs, tiny_model


@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_equals_that_of_the_reference(seed: int):
    model = tiny_model("soft", seed=seed)
    pairs = random_pairs(8, seed=seed)
    p = reference.parameters(model)
    found = model.log_likelihood(collate(pairs))
    expected = torch.stack(
        [reference.log_likelihood(p, "soft", pair.source, pair.target) for pair in pairs]
    )
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    parameters = list(model.parameters())
    wanted = torch.autograd.grad(expected.sum(), parameters)
    for gradient, want in zip(torch.autograd.grad(found.sum(), parameters), wanted, strict=True):
        torch.testing.assert_close(gradient, want, rtol=0, atol=1e-10)


def test_soft_is_not_hard():
    hard, soft = tiny_model("hard"), tiny_model("soft")
    soft.load_state_dict(hard.state_dict())  # the same parameters to the last number
    batch = collate(random_pairs(8))
    difference = (hard.log_likelihood(batch) - soft.log_likelihood(batch)).abs()
    assert difference.max() > 1e-3
