from __future__ import annotations

import math

import pytest
import torch

from hardalign.ops.reinforce import leave_one_out, reward_to_go, sample_positions, surrogate


def test_positions_are_drawn_as_often_as_their_probability_says():
    torch.manual_seed(0)
    alpha = torch.tensor([0.5, 0.3, 0.15, 0.05, 0.0], dtype=torch.float64)
    draws = 40_000
    drawn = sample_positions(alpha.log().expand(draws, 5))
    frequency = drawn.bincount(minlength=5) / draws
    error = (alpha * (1 - alpha) / draws).sqrt()
    assert ((frequency - alpha).abs() <= 4 * error).all()
    assert frequency[4] == 0


def test_each_row_is_drawn_for_itself():
    torch.manual_seed(0)
    log_alpha = torch.full((2, 300, 3), -torch.inf)
    log_alpha[0, :, 1] = 0
    log_alpha[1, :, :2] = math.log(0.5)
    drawn = sample_positions(log_alpha)
    assert drawn.shape == (2, 300)
    assert (drawn[0] == 1).all()
    assert set(drawn[1].tolist()) == {0, 1}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_padding_is_never_drawn(dtype: torch.dtype):
    torch.manual_seed(0)
    log_alpha = torch.randn(20_000, 6).mul_(30).log_softmax(-1).to(dtype)
    log_alpha[:, 4:] = -torch.inf
    assert sample_positions(log_alpha).max() < 4


def test_draws_follow_from_the_seed():
    log_alpha = torch.randn(50, 6).log_softmax(-1)
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(sample_positions(log_alpha))
    assert draws[0].equal(draws[1])
    assert not draws[0].equal(draws[2])


def test_draws_carry_no_gradient():
    log_alpha = torch.randn(5, 6, requires_grad=True)
    assert not sample_positions(log_alpha).requires_grad


def test_reward_to_go():
    rewards = torch.tensor([[1.0, 10.0, 100.0], [2.0, 3.0, 0.0]])
    expected = torch.tensor([[111.0, 110.0, 100.0], [5.0, 3.0, 0.0]])
    assert reward_to_go(rewards).equal(expected)
    assert reward_to_go(torch.zeros(2, 0)).shape == (2, 0)


def test_leave_one_out_subtracts_the_mean_of_the_others():
    rewards = torch.tensor([[1.0, 5.0], [2.0, 2.0]])
    assert leave_one_out(rewards).equal(torch.tensor([[-4.0, 4.0], [0.0, 0.0]]))
    three = torch.tensor([1.0, 4.0, 10.0])
    torch.testing.assert_close(leave_one_out(three), torch.tensor([-6.0, -1.5, 7.5]))


def test_value_of_the_surrogate_is_minus_the_reward():
    rewards, log_alpha, advantage = torch.randn(3, 4, 5)
    assert surrogate(rewards, log_alpha, advantage).equal(-rewards)


@pytest.mark.parametrize("baseline", [0.0, -1.5, 20.0])
def test_expected_gradient_is_exact_whatever_the_baseline(baseline: float):
    """The expectation over the position drawn, by summing over all: no chance involved."""
    torch.manual_seed(0)
    scores = torch.randn(6, dtype=torch.float64, requires_grad=True)
    rewards = torch.randn(6, dtype=torch.float64, requires_grad=True)
    log_alpha = scores.log_softmax(-1)
    alpha = log_alpha.exp()
    wanted = torch.autograd.grad((alpha * rewards).sum(), [scores, rewards], retain_graph=True)
    losses = surrogate(rewards, log_alpha, rewards - baseline)
    found = torch.autograd.grad(-(alpha.detach() * losses).sum(), [scores, rewards])
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
