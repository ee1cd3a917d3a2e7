"""Hard attention trained by REINFORCE (paper, sections 5.2 and 8.2): what `exact` is compared to.

Only the training differs: prediction and scores come from the head itself.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hardalign.networks.attention import Attention, Memory
from hardalign.ops.emission import Cells, emission_log_prob
from hardalign.ops.reinforce import reward_to_go, sample_positions, surrogate

DISCOUNT = 0.9
"""How much of the old average the baseline keeps at each batch (paper, section 8.2)."""


class Baseline(nn.Module):
    """A moving average of the reward per symbol, saved with the model.

    It is brought up to date after its use: the value that is subtracted from a reward never
    depends on that reward, so the gradient stays unbiased.
    """

    average: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("average", torch.zeros(()))

    @torch.no_grad()
    def forward(self, rewards: Tensor, steps: Tensor) -> Tensor:
        """Rewards minus the average, as constants; 0 where ``steps`` is false."""
        centred = (rewards - self.average).masked_fill(~steps, 0.0)
        if self.training:
            self.average.lerp_(rewards[steps].mean().to(self.average), 1 - DISCOUNT)
        return centred


class SampledPositions(nn.Module):
    """System R's loss: at each step some positions drawn from α, independently of other steps.

    Without input feeding the bound falls apart into steps, Σ_i Σ_j α_j(i) log p(y_i | j), and a
    position's reward is its own symbol's log-probability. Only cells that are drawn are computed.
    """

    def __init__(self, samples: int) -> None:
        super().__init__()
        self.samples = samples
        self.baseline = Baseline()

    def forward(
        self, attention: Attention, decoded: Tensor, memory: Memory, target: Tensor, steps: Tensor
    ) -> Tensor:
        """[B] minus the bound, estimated, with REINFORCE's gradient."""
        log_alpha = attention.log_alpha(decoded, memory)  # [B, I, J]
        repeated = log_alpha.unsqueeze(2).expand(-1, -1, self.samples, -1)
        position = sample_positions(repeated)  # [B, I, k]
        row, step = steps.nonzero(as_tuple=True)  # [R]: padding steps are left behind here
        query = row * steps.shape[1] + step
        key = row.unsqueeze(1) * log_alpha.shape[2] + position[row, step]  # [R, k]
        rewards = emission_log_prob(
            attention.output_query(decoded).flatten(0, 1),
            memory.output_key.flatten(0, 1),
            attention.output_weight,
            attention.output_bias,
            Cells(query.repeat_interleave(self.samples), key.flatten()),
            target[row, step].repeat_interleave(self.samples),
        ).view_as(key)  # [R, k]
        drawn = log_alpha.gather(2, position)[row, step]  # [R, k]
        advantage = self.baseline(rewards, torch.ones_like(key, dtype=torch.bool))
        losses = surrogate(rewards, drawn, advantage).mean(1)  # [R]
        return losses.new_zeros(len(steps)).index_add(0, row, losses)


class SampledPaths(nn.Module):
    """System 2's loss: whole alignments, each drawn step by step, as each step sees the last.

    A position also influences, by input feeding, all later rewards: it is credited with their sum.
    """

    def __init__(self, samples: int) -> None:
        super().__init__()
        self.samples = samples
        self.baseline = Baseline()

    def forward(self, rewards: Tensor, log_alpha: Tensor, steps: Tensor) -> Tensor:
        """[B] minus the bound, estimated, with REINFORCE's gradient.

        Args:
            rewards: [B·k, I] log p(y_i | a_i) of k alignments per pair, one after the other.
            log_alpha: [B·k, I] log α_{a_i}(i).
            steps: [B·k, I] true at steps that count.
        """
        # Σ_{i' ≥ i} (r_i' − b) is the reward to go minus b times the steps that remain.
        advantage = reward_to_go(self.baseline(rewards, steps))
        losses = surrogate(rewards, log_alpha, advantage).masked_fill(~steps, 0.0)
        return losses.sum(1).view(-1, self.samples).mean(1)
