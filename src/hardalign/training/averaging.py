"""The mean of the weights over the last steps, which is good after fewer epochs than the last."""

from __future__ import annotations

from torch import Tensor, optim
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from hardalign.systems.network import Network

DECAY = 0.999
"""How much of the mean stays at each step: it is over about a thousand of them."""

_Weights = tuple[Tensor, ...] | list[Tensor]


class Averaged(AveragedModel):
    """A copy of a model that follows it: at each step of its optimizer the means are updated."""

    module: Network

    def __init__(self, model: Network, optimizer: optim.Optimizer) -> None:
        super().__init__(model, multi_avg_fn=_update)
        optimizer.register_step_post_hook(lambda *_: self.update_parameters(model))


def _update(means: _Weights, weights: _Weights, steps: Tensor | int) -> None:
    # While there are few steps, the mean is over the last tenth of them: the first are far off.
    decay = min(DECAY, (1 + int(steps)) / (10 + int(steps)))
    get_ema_multi_avg_fn(decay)(means, weights, steps)  # type: ignore[no-untyped-call]
