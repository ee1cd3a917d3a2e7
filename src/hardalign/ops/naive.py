"""Each quantity of this package in the few lines that define it: read this first.

Nothing here is fast and everything is right: the tests hold the fast versions equal to these, and
these to sums over all alignments. Shapes and arguments are those of the fast versions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hardalign.ops.layer import OutputLayer


def emission(layer: OutputLayer) -> Tensor:
    """Returns log p(· | j, y_<i, x) of every symbol, step and position: [B, I, J, V]."""
    activation = (layer.query.unsqueeze(2) + layer.key.unsqueeze(1)).tanh()  # [B, I, J, d_s]
    log_probs = (activation @ layer.weight.t() + layer.bias).log_softmax(-1)
    if layer.copying is None:
        return log_probs
    symbol = layer.copying.symbol.unsqueeze(1)  # [B, 1, J]
    gate = (activation @ layer.copying.weight.t() + layer.copying.bias).sigmoid()
    gate = gate * (symbol >= 0).unsqueeze(-1)  # [B, I, J, 1]
    own = symbol.unsqueeze(-1) == torch.arange(len(layer.bias))  # [B, 1, J, V]
    return ((1 - gate) * log_probs.exp() + gate * own).log()


def mixture_log_joint(log_alpha: Tensor, layer: OutputLayer, target: Tensor) -> Tensor:
    """Returns log α_j(i) + log p(y_i | j, y_<i, x), [B, I, J], whose logsumexp is log p(y_i)."""
    symbol = target[:, :, None, None].expand(*log_alpha.shape, 1)  # [B, I, J, 1]
    return log_alpha + emission(layer).gather(3, symbol).squeeze(3)


def chain_log_likelihood(transition: Tensor, emission: Tensor) -> Tensor:
    """Returns log p(y | x) [B] of a chain: the forward algorithm.

    Args:
        transition: [B, I, J, J] log p(a_i = j | a_{i-1} = k) at [:, i, k, j].
        emission: [B, I, J] log p(y_i | a_i = j).
    """
    forward = torch.full_like(emission[:, 0], -torch.inf)  # [B, J] log p(y_≤i, a_i = j)
    forward[:, 0] = 0.0
    for i in range(emission.shape[1]):
        forward = (forward.unsqueeze(2) + transition[:, i]).logsumexp(1) + emission[:, i]
    return forward.logsumexp(1)


def chain_posterior(transition: Tensor, emission: Tensor) -> Tensor:
    """Returns p(a_i = j | x, y) [B, I, J]: the gradient of the log-partition by the emissions."""
    emission = emission.detach().requires_grad_()
    with torch.enable_grad():
        log_likelihood = chain_log_likelihood(transition, emission).sum()
    return torch.autograd.grad(log_likelihood, emission)[0]


def particle_bound(log_weights: Tensor) -> Tensor:
    """Returns log (1/k Σ_s Π_i w_i^s) [B] of the log w_i^s [B, I, k] of k particles a word."""
    return log_weights.sum(1).exp().mean(1).log()
