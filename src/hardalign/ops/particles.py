"""A particle filter's bound: one step summed exactly, the past drawn from its posterior.

With input feeding, every alignment has a decoder of its own. Given a past a_<i,

    w_i = p(y_i | a_<i, y_<i, x) = Σ_j α_j(i) p(y_i | j)

is summed exactly, and a_i is drawn from p(a_i = j | a_<i, y_≤i, x) = α_j(i) p(y_i | j) / w_i. Then
Π_i w_i is an unbiased estimate of p(y | x), and the log of the mean of k of them is, on average,
a lower bound of log p(y | x) that rises with k. ``README.md`` derives it.
"""

from __future__ import annotations

import math

from torch import Tensor

from hardalign.ops.reinforce import sample_positions


def sample_posterior(log_joint: Tensor) -> Tensor:
    """Draws one position from each step's posterior.

    Args:
        log_joint: [..., J] log α_j(i) + log p(y_i | j), −inf where a position is padding.

    Returns:
        [...]
    """
    return sample_positions(log_joint.log_softmax(-1))


def particle_bound(log_weights: Tensor) -> Tensor:
    """Returns log (1/k Σ_s Π_i w_i^s) of each word.

    Args:
        log_weights: [B, I, k] log w_i of k particles, 0 at padding steps.

    Returns:
        [B]
    """
    return log_weights.sum(1).logsumexp(1) - math.log(log_weights.shape[2])
