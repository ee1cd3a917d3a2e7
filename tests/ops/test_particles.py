from __future__ import annotations

import math

import torch

from hardalign.ops import naive
from hardalign.ops.particles import particle_bound, sample_posterior


def test_the_bound_is_the_log_of_the_mean_weight():
    log_weights = -torch.rand(5, 4, 3, dtype=torch.float64)
    torch.testing.assert_close(particle_bound(log_weights), naive.particle_bound(log_weights))
    wanted = math.log((math.exp(-1 - 2) + math.exp(-3 - 4)) / 2)
    weights = torch.tensor([[[-1.0, -3.0], [-2.0, -4.0]]], dtype=torch.float64)
    torch.testing.assert_close(particle_bound(weights), torch.tensor([wanted]).double())


def test_the_bound_of_improbable_words_is_finite():
    log_weights = torch.full((1, 200, 2), -50.0, requires_grad=True)
    bound = particle_bound(log_weights)
    assert bound.item() == -10_000
    (gradient,) = torch.autograd.grad(bound.sum(), log_weights)
    torch.testing.assert_close(gradient, torch.full_like(gradient, 0.5), rtol=0, atol=1e-3)


def test_positions_are_drawn_from_the_posterior():
    """Of joint probabilities far below 1, as improbable symbols have them."""
    torch.manual_seed(0)
    posterior = torch.tensor([0.5, 0.3, 0.15, 0.05, 0.0], dtype=torch.float64)
    draws = 40_000
    positions = sample_posterior((posterior.log() - 2000).expand(draws, 5))
    frequency = positions.bincount(minlength=5) / draws
    error = (posterior * (1 - posterior) / draws).sqrt()
    assert ((frequency - posterior).abs() <= 4 * error).all()
    assert frequency[4] == 0
