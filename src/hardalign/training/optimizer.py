"""What changes the weights, how much of them it takes back, and by which rate in which epoch."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn, optim

from hardalign.config import TrainingConfig


def make_optimizer(model: nn.Module, config: TrainingConfig) -> optim.Optimizer:
    """Returns Adam for all parameters of a model, with weight decay for some if it is wanted.

    The decay is decoupled from the gradient (Loshchilov & Hutter 2019): each step takes the rate
    times ``weight_decay`` off the matrices that states are multiplied by. Embeddings and biases
    stay: a symbol that is seldom seen would fade in the many steps without it.
    """
    if not config.weight_decay:
        return optim.Adam(model.parameters(), config.learning_rate, fused=True)
    embedded = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    matrices = [one for one in model.parameters() if one.dim() > 1 and id(one) not in embedded]
    decaying = {id(one) for one in matrices}
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {
            "params": [one for one in model.parameters() if id(one) not in decaying],
            "weight_decay": 0.0,
        },
    ]
    return optim.AdamW(groups, config.learning_rate, fused=True)


def planned_rate(
    epoch: int, config: TrainingConfig, schedule: Sequence[float] | None
) -> float | None:
    """Returns the learning rate of an epoch, from 0 on, if it is known before training begins.

    It is where a schedule has it, or where the rate falls on a straight line to zero: then an
    epoch has the rate of the line at its middle. None is where it depends on the development set.
    """
    if schedule is not None:
        return schedule[epoch]
    if config.linear_decay:
        return config.learning_rate * (1 - (epoch + 0.5) / config.epochs)
    return None
