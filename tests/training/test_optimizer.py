from __future__ import annotations

import pytest
import torch

from hardalign.config import TrainingConfig
from hardalign.systems import SYSTEMS
from hardalign.training.optimizer import make_optimizer, planned_rate
from tiny import tiny_model


def test_decay_takes_from_matrices_alone() -> None:
    for system in SYSTEMS:
        model = tiny_model(system, seed=0)
        before = {name: one.detach().clone() for name, one in model.named_parameters()}
        optimizer = make_optimizer(model, TrainingConfig(learning_rate=0.1, weight_decay=0.5))
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        shrunk = {
            name
            for name, one in model.named_parameters()
            if not torch.equal(one.detach(), before[name])
        }
        for name, one in model.named_parameters():
            expected = before[name] * (1 - 0.1 * 0.5 if name in shrunk else 1)
            torch.testing.assert_close(one.detach(), expected)
        assert not any("embedding" in name or "bias" in name for name in shrunk)
        assert {name for name, one in before.items() if one.dim() > 1} - shrunk == {
            name for name in before if "embedding" in name
        }


def test_every_parameter_is_learned_once() -> None:
    for decay in (0.0, 0.1):
        model = tiny_model("hard-hmm", seed=0)
        groups = make_optimizer(model, TrainingConfig(weight_decay=decay)).param_groups
        learned = [id(one) for group in groups for one in group["params"]]
        assert sorted(learned) == sorted(id(one) for one in model.parameters())


def test_without_decay_it_is_adam() -> None:
    model = tiny_model("hard", seed=0)
    assert type(make_optimizer(model, TrainingConfig())) is torch.optim.Adam


def test_rates_on_a_line() -> None:
    config = TrainingConfig(epochs=4, learning_rate=0.8, linear_decay=True)
    rates = [planned_rate(epoch, config, None) for epoch in range(4)]
    assert rates == pytest.approx([0.7, 0.5, 0.3, 0.1])


def test_a_schedule_comes_first_and_nothing_else_is_planned() -> None:
    linear = TrainingConfig(epochs=2, linear_decay=True)
    assert planned_rate(1, linear, (0.5, 0.25)) == 0.25
    assert planned_rate(1, TrainingConfig(epochs=2), None) is None
