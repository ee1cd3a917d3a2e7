"""What training minimises where alignments are drawn instead of summed (paper, 5.2 and 8.2).

Only the training differs: scores come from the heads themselves.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hardalign.errors import HardalignError
from hardalign.networks.attention import Reading
from hardalign.networks.fed import FedObjective, Rule, Trace
from hardalign.networks.fed_heads import HardFeedHead, emitted
from hardalign.networks.unfed import Head, Objective
from hardalign.ops.emission import emission_log_prob
from hardalign.ops.layer import Cells
from hardalign.ops.particles import particle_bound, sample_posterior
from hardalign.ops.reinforce import leave_one_out, reward_to_go, sample_positions, surrogate

DISCOUNT = 0.9
"""How much of the old average the baseline keeps at each batch (paper, section 8.2)."""


class SampledPositions(Objective):
    """System R's loss: at each step some positions drawn from α, independently of other steps.

    Without input feeding the bound falls apart into steps, Σ_i Σ_j α_j(i) log p(y_i | j), and a
    position's reward is its own symbol's log-probability. The mean reward of the step's other draws
    is subtracted from it. Only cells that are drawn are computed.
    """

    def __init__(self, samples: int) -> None:
        super().__init__()
        if samples < 2:
            raise HardalignError(
                f"samples must be at least 2, not {samples}: a draw is compared with the others"
            )
        self.samples = samples

    def forward(self, head: Head, decoded: Tensor, reading: Reading) -> Tensor:
        """Returns minus the bound, estimated, with REINFORCE's gradient [B]."""
        attention, memory, steps = head.attention, reading.memory, reading.steps
        log_alpha = attention.log_alpha(decoded, memory)  # [B, I, J]
        repeated = log_alpha.unsqueeze(2).expand(-1, -1, self.samples, -1)
        position = sample_positions(repeated)  # [B, I, k]
        word, step = steps.nonzero(as_tuple=True)  # [R]: padding steps are left behind here
        drawn = position[word, step]  # [R, k]
        layer = attention.output_layer(attention.output_query(decoded), memory)
        columns = (word, step, reading.target[word, step])
        words, places, target = (column.repeat_interleave(self.samples) for column in columns)
        rewards = emission_log_prob(layer, Cells(words, places, drawn.flatten()), target)
        rewards = rewards.view_as(drawn)  # [R, k]
        log_alpha = log_alpha.gather(2, position)[word, step]  # [R, k]
        advantage = leave_one_out(rewards.detach())
        losses = surrogate(rewards, log_alpha, advantage).mean(1)  # [R]
        return losses.new_zeros(len(steps)).index_add(0, word, losses)


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
        """Returns rewards minus the average, as constants; 0 where ``steps`` is false."""
        centred = (rewards - self.average).masked_fill(~steps, 0.0)
        if self.training:
            self.average.lerp_(rewards[steps].mean().to(self.average), 1 - DISCOUNT)
        return centred


class SampledPaths(FedObjective[HardFeedHead]):
    """System 2's loss in the paper: whole alignments, drawn step by step, as each sees the last.

    A position also influences, by input feeding, all later rewards: it is credited with their sum.
    """

    def __init__(self, samples: int) -> None:
        super().__init__(samples)
        self.baseline = Baseline()

    def rule(self, head: HardFeedHead, reading: Reading) -> Rule:
        """Feeds back positions drawn from α."""
        return head.by_alpha(reading, sample_positions)

    def forward(self, head: HardFeedHead, trace: Trace, reading: Reading) -> Tensor:
        """Returns minus the bound, estimated, with REINFORCE's gradient [B]."""
        rewards = emitted(head.attention, trace, reading).transpose(1, 2)  # [B, k, I]
        position = trace.weights.argmax(-1, keepdim=True)
        log_alpha = trace.log_alpha.gather(-1, position).squeeze(-1).transpose(1, 2)  # [B, k, I]
        steps = reading.steps.unsqueeze(1).expand_as(rewards)
        # Σ_{i' ≥ i} (r_i' − b) is the reward to go minus b times the steps that remain.
        advantage = reward_to_go(self.baseline(rewards, steps))
        losses = surrogate(rewards, log_alpha, advantage).masked_fill(~steps, 0.0)
        return losses.sum(2).mean(1)


class Particles(FedObjective[HardFeedHead]):
    """The loss of `hard-feed`: each step is summed exactly, what is fed back is drawn.

    The position that is fed back is drawn from its posterior α_j(i) p(y_i | j), given the symbol
    and what was drawn before. Gradients go through everything but the draws themselves.
    """

    def rule(self, head: HardFeedHead, reading: Reading) -> Rule:
        """Feeds back positions drawn from their posterior."""
        return head.by_posterior(reading, sample_posterior)

    def forward(self, head: HardFeedHead, trace: Trace, reading: Reading) -> Tensor:
        """Returns −log (1/k Σ_s Π_i w_i^s) [B], on average an upper bound of −log p(y | x)."""
        return -particle_bound(head.log_likelihood(trace, reading))
