from __future__ import annotations

import pytest
import torch

import reference
from hardalign.data.vocabulary import END
from hardalign.networks.attention import Attention, Memory
from helpers import TINY, tiny_model

BATCH, STEPS, POSITIONS = 3, 4, 5
LENGTHS = torch.tensor([5, 2, 3])


@pytest.fixture
def attention() -> Attention:
    return tiny_model().head.attention


@pytest.fixture
def decoded() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(BATCH, STEPS, 5, dtype=torch.float64, generator=generator)


@pytest.fixture
def states() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(BATCH, POSITIONS, 8, dtype=torch.float64, generator=generator)


@pytest.fixture
def memory(attention: Attention, states: torch.Tensor) -> Memory:
    present = torch.arange(POSITIONS) < LENGTHS.unsqueeze(1)
    return attention.remember(
        states, torch.zeros_like(present, dtype=torch.long), present, torch.zeros_like(LENGTHS)
    )


def test_weights_equal_the_reference(
    attention: Attention, decoded: torch.Tensor, states: torch.Tensor, memory: Memory
):
    p = reference.parameters(tiny_model())
    alpha = attention.log_alpha(decoded, memory).exp()
    for b, length in enumerate(LENGTHS.tolist()):
        for i in range(STEPS):
            expected = reference.attention(p, decoded[b, i], list(states[b, :length]))
            torch.testing.assert_close(alpha[b, i, :length], expected, rtol=0, atol=1e-12)


def test_padding_has_no_weight(attention: Attention, decoded: torch.Tensor, memory: Memory):
    log_alpha = attention.log_alpha(decoded, memory)
    absent = ~memory.present.unsqueeze(1).expand_as(log_alpha)
    assert (log_alpha[absent] == -torch.inf).all()
    assert log_alpha[~absent].isfinite().all()
    torch.testing.assert_close(log_alpha.logsumexp(-1), torch.zeros(BATCH, STEPS).double())


def test_the_two_halves_make_up_s(
    attention: Attention, decoded: torch.Tensor, states: torch.Tensor, memory: Memory
):
    halves = attention.output_query(decoded).unsqueeze(2) + memory.output_key.unsqueeze(1)
    both = torch.cat(
        [
            decoded.unsqueeze(2).expand(BATCH, STEPS, POSITIONS, -1),
            states.unsqueeze(1).expand(BATCH, STEPS, POSITIONS, -1),
        ],
        dim=-1,
    )
    torch.testing.assert_close(halves, attention.combine(both), rtol=0, atol=1e-12)


def test_the_output_has_the_end_and_the_letters_only(attention: Attention):
    symbols = len(TINY.target.letters) + 1
    assert attention.output_weight.shape == (symbols, 13)
    assert attention.output_bias.shape == (symbols,)
    assert torch.equal(attention.output_weight[0], attention.output.weight[END])
    assert torch.equal(attention.output_bias[0], attention.output.bias[END])
