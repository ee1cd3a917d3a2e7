"""The exact likelihood of hard attention: a mixture over source positions at every step.

    p(y | x) = Π_i Σ_j α_j(i) p(y_i | j, y_<i, x)                         (the paper's eq. 1d)

All |x|^|y| alignments are summed, because the alignments of different steps are independent given
y. Everything stays in log space.

Positions that cannot matter may be left out, with a certified bound: p(y_i | j) ≤ 1, so leaving
out positions of total weight s changes Σ_j by at most s. A step keeps its small set only where
s / (what was kept) is at most the tolerance; otherwise the rest is computed as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hardalign.ops.emission import Cells, emission_log_prob, emission_log_probs


@dataclass(frozen=True)
class OutputLayer:
    """What a mixture needs to turn positions into symbol probabilities."""

    query: Tensor
    """[B, I, d_s] decoder half of S(h ⊕ e)."""
    key: Tensor
    """[B, J, d_s] encoder half."""
    weight: Tensor
    """[V, d_s]"""
    bias: Tensor
    """[V]"""


def mixture_log_joint(
    log_alpha: Tensor, layer: OutputLayer, target: Tensor, steps: Tensor, tolerance: float = 0.0
) -> Tensor:
    """log α_j(i) + log p(y_i | j) for every step i and position j.

    Its logsumexp over j is the log-probability of y_i; its softmax over j is the posterior
    p(a_i = j | x, y).

    Args:
        log_alpha: [B, I, J] log alignment distribution, −inf at padding positions.
        layer: the output layer's inputs and weights.
        target: [B, I] symbols, any value at padding steps.
        steps: [B, I] true at steps that count. Padding steps get log α alone: they sum to 1.
        tolerance: largest relative error of each Σ_j that may come from leaving positions out, and
            the share of the largest gradient below which a cell's gradient is left out. 0: none.

    Returns:
        [B, I, J], −inf where a position was left out.
    """
    with torch.no_grad():
        possible = steps.unsqueeze(-1) & (log_alpha > -torch.inf)
        chosen = possible
        if tolerance > 0:
            # An even share of a tenth of the tolerance: met by all steps with p(y_i) > 0.1.
            negligible = math.log(tolerance / 10 / log_alpha.shape[-1])
            chosen = possible & (log_alpha > negligible)
    log_alpha = log_alpha.to(layer.weight.dtype)  # from mixed precision
    emission = log_alpha.new_full(log_alpha.shape, -torch.inf)
    emission = emission.masked_fill(~steps.unsqueeze(-1), 0.0)
    emission = _fill(emission, chosen, layer, target, tolerance)
    if tolerance > 0:
        with torch.no_grad():
            rest = possible & ~chosen
            kept = (log_alpha + emission).logsumexp(-1)  # [B, I]
            left_out = log_alpha.masked_fill(~rest, -torch.inf).logsumexp(-1)  # [B, I]
            uncertain = left_out - kept > math.log(tolerance)
            rest &= uncertain.unsqueeze(-1)
        if rest.any():
            emission = _fill(emission, rest, layer, target, tolerance)
    return log_alpha + emission


def _fill(
    emission: Tensor, chosen: Tensor, layer: OutputLayer, target: Tensor, tolerance: float
) -> Tensor:
    """Compute the chosen cells of ``emission``."""
    batch, step, position = chosen.nonzero(as_tuple=True)
    values = emission_log_prob(
        layer.query.flatten(0, 1),
        layer.key.flatten(0, 1),
        layer.weight,
        layer.bias,
        Cells(batch * chosen.shape[1] + step, batch * chosen.shape[2] + position),
        target[batch, step],
        tolerance,
    )
    return emission.index_put((batch, step, position), values)


def mixture_log_probs(log_alpha: Tensor, layer: OutputLayer, tolerance: float = 0.0) -> Tensor:
    """log Σ_j α_j p(· | j), the distribution of the next symbol, for one step of decoding.

    Args:
        log_alpha: [N, J], −inf at padding positions.
        layer: with one query per row, [N, 1, d_s].
        tolerance: positions of total weight at most this are left out of the mixture, which is
            renormalised: no probability is off by more than the tolerance. 0: none.

    Returns:
        [N, V]
    """
    chosen = log_alpha > -torch.inf
    if tolerance > 0:
        chosen = log_alpha > math.log(tolerance / log_alpha.shape[-1])
        log_alpha = log_alpha.masked_fill(~chosen, -torch.inf).log_softmax(-1)
    row, position = chosen.nonzero(as_tuple=True)
    cells = Cells(row, row * chosen.shape[1] + position)
    emission = emission_log_probs(
        layer.query.squeeze(1), layer.key.flatten(0, 1), layer.weight, layer.bias, cells
    )
    joint = emission.new_full((*chosen.shape, emission.shape[-1]), -torch.inf)  # [N, J, V]
    joint[row, position] = emission + log_alpha[row, position].unsqueeze(-1)
    return joint.logsumexp(1)
