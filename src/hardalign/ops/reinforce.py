"""REINFORCE for hard attention: unbiased gradients of a bound from sampled positions.

The bound of the paper's section 5.2 is an expectation over alignments,

    log p(y | x) ≥ E_a [Σ_i r_i],      r_i = log p(y_i | a_≤i, y_<i, x),      a_i ~ α(i),

whose gradient is the expectation of a pathwise and a score-function term,

    Σ_i ∇ r_i + Σ_i A_i ∇ log α_{a_i}(i),

where A_i is the sum of the rewards that a_i can influence, minus anything that does not depend on
a_i. Without input feeding a_i influences r_i alone; with it, every later reward too.
"""

from __future__ import annotations

import torch
from torch import Tensor


@torch.no_grad()
def sample_positions(log_alpha: Tensor) -> Tensor:
    """Draws one position a ~ α from each distribution.

    An exponential race: of clocks that ring at rate α_j, the first is j with probability α_j. A
    position of probability zero never wins, which a cumulative sum could not promise.

    Args:
        log_alpha: [..., J], −inf where a position is padding.

    Returns:
        [...]
    """
    return (log_alpha.exp() / torch.empty_like(log_alpha).exponential_()).argmax(-1)


def leave_one_out(rewards: Tensor) -> Tensor:
    """Returns each reward minus the mean of the other draws', [..., k] with k above 1.

    The other draws are independent of this one, so what is subtracted never depends on it.
    """
    return (rewards - rewards.mean(-1, keepdim=True)) * (
        rewards.shape[-1] / (rewards.shape[-1] - 1)
    )


def reward_to_go(rewards: Tensor) -> Tensor:
    """Returns Σ_{i' ≥ i} r_i' of rewards [N, I] that are 0 at padding steps."""
    return rewards.flip(-1).cumsum(-1).flip(-1)


def surrogate(rewards: Tensor, log_alpha: Tensor, advantage: Tensor) -> Tensor:
    """Returns a loss whose gradient is REINFORCE's, and whose value estimates minus the bound.

    Args:
        rewards: log p(y_i | a_i, y_<i, x) of the positions drawn, differentiable.
        log_alpha: log α_{a_i}(i) of the positions drawn, differentiable.
        advantage: A_i, a constant.

    Returns:
        −(r + A log α), all of one shape, with the value of the second term taken out.
    """
    return -(rewards + advantage.detach() * (log_alpha - log_alpha.detach()))
