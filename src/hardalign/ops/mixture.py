"""The exact likelihood of hard attention: a mixture over source positions at every step.

    p(y | x) = Π_i Σ_j α_j(i) p(y_i | j, y_<i, x)                         (the paper's eq. 1d)

The plain version is ``naive.mixture_log_joint``. Everything stays in log space.

Positions that cannot matter may be left out, with a certified bound: p(y_i | j) ≤ 1, so leaving
out positions of total weight s changes Σ_j by at most s. A step keeps its small set only where
s / (what was kept) is at most the tolerance; otherwise the rest is computed as well.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hardalign.ops.emission import emission_log_prob
from hardalign.ops.layer import EXACT, Cells, OutputLayer, Tolerance


def mixture_log_joint(
    log_alpha: Tensor,
    layer: OutputLayer,
    target: Tensor,
    steps: Tensor,
    tolerance: Tolerance = EXACT,
) -> Tensor:
    """Returns log α_j(i) + log p(y_i | j) for every step i and position j.

    Its logsumexp over j is the log-probability of y_i; its softmax over j is the posterior
    p(a_i = j | x, y).

    Args:
        log_alpha: [B, I, J] log alignment distribution, −inf at padding positions.
        layer: The output layer's inputs and weights.
        target: [B, I] symbols, any value at padding steps.
        steps: [B, I] true at steps that count. Padding steps get log α alone: they sum to 1.
        tolerance: What may be left out.

    Returns:
        [B, I, J], −inf where a position was left out.
    """
    with torch.no_grad():
        possible = steps.unsqueeze(-1) & (log_alpha > -torch.inf)
        likely = possible
        if tolerance.value > 0:
            # An even share of a tenth of the tolerance: met by all steps with p(y_i) > 0.1. Shared
            # among the word's own positions: with those of the padding it would depend on mates.
            shares = possible.sum(-1, keepdim=True) * (10 / tolerance.value)
            likely = possible & (log_alpha > -shares.log())
    log_alpha = log_alpha.to(layer.weight.dtype)  # from mixed precision
    emission = log_alpha.new_full(log_alpha.shape, -torch.inf)
    emission = emission.masked_fill(~steps.unsqueeze(-1), 0.0)
    emission = _fill(emission, likely, layer, target, tolerance)
    if tolerance.value > 0:
        with torch.no_grad():
            rest = possible & ~likely
            kept = (log_alpha + emission).logsumexp(-1)  # [B, I]
            left_out = log_alpha.masked_fill(~rest, -torch.inf).logsumexp(-1)  # [B, I]
            uncertain = left_out - kept > math.log(tolerance.value)
            rest &= uncertain.unsqueeze(-1)
        if rest.any():
            emission = _fill(emission, rest, layer, target, tolerance)
    return log_alpha + emission


def _fill(
    emission: Tensor, wanted: Tensor, layer: OutputLayer, target: Tensor, tolerance: Tolerance
) -> Tensor:
    """Computes the wanted cells of ``emission``."""
    word, step, position = cells = wanted.nonzero(as_tuple=True)
    values = emission_log_prob(layer, Cells(*cells), target[word, step], tolerance.gradient)
    return emission.index_put((word, step, position), values)
