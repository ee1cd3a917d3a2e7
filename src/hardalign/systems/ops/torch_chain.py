"""The forward algorithm in torch, with a gradient of its own; ``plain.forward`` is the definition.

All |x|^|y| paths are summed exactly, in |y|·|x|² operations and in log space. Transitions are asked
for in blocks of steps, and again on the way back, so that memory does not grow with |y|·|x|². Those
from each k are a distribution over j, so that a padding step, which emits nothing, changes no sum.
Where j is padding or cannot be reached they are −inf.

The gradient is made of posteriors: what happened before a step is known from its origins,
p(a_{i-1} = k | a_i = j, y_<i, x), followed back from the last step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from hardalign.systems.ops import Transitions

BLOCK_FLOATS = 1 << 18
"""Transitions in a block: 1 MB, which stays in a core's cache. Words of usual length are one."""


def forward_algorithm(transitions: Transitions, emission: Tensor) -> Tensor:
    """Returns log p(y_i | y_<i, x) [B, I], which add up to log p(y | x); differentiable."""

    def run(before: Tensor, steps: slice, emitted: Tensor) -> tuple[Tensor, Tensor]:
        return _Forward.apply(before, transitions(steps), emitted)  # type: ignore[no-any-return, no-untyped-call]

    blocks = _blocks(emission)
    before, evidence = torch.full_like(emission[:, 0], -torch.inf), []
    before[:, 0] = 0.0  # the chain begins at position 0
    # Split, not sliced: the gradient of a slice is as large as all that it was cut from.
    parts = torch.split(emission, [steps.stop - steps.start for steps in blocks], 1)
    for steps, emitted in zip(blocks, parts, strict=True):
        if len(blocks) > 1:
            block, before = checkpoint(run, before, steps, emitted, use_reentrant=False)
        else:
            block, before = run(before, steps, emitted)
        evidence.append(block)
    return torch.cat(evidence, 1)


def _blocks(emission: Tensor) -> list[slice]:
    """Returns slices of the steps whose transitions stay within ``BLOCK_FLOATS``."""
    rows, steps, positions = emission.shape
    size = max(1, BLOCK_FLOATS // (rows * positions**2))
    return [slice(start, min(start + size, steps)) for start in range(0, steps, size)]


def _filter(before: Tensor, transition: Tensor, emission: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Runs the forward algorithm over a block of steps, normalised at each.

    Returns:
        log p(y_i | y_<i, x) [B, I], log p(a_i = j | y_<i, x) [B, I, J], and, once its symbol is
        known, log p(a_i = j | y_≤i, x), from ``before`` [B, J] on: [B, I + 1, J].
    """
    evidence, predicted, filtered = [], [], [before]
    for move, emitted in zip(transition.unbind(1), emission.unbind(1), strict=True):
        predicted.append((filtered[-1].unsqueeze(2) + move).logsumexp(1))  # over k
        joint = predicted[-1] + emitted
        evidence.append(joint.logsumexp(1, keepdim=True))
        filtered.append(joint - evidence[-1])
    return torch.cat(evidence, 1), torch.stack(predicted, 1), torch.stack(filtered, 1)


def _origins(transition: Tensor, predicted: Tensor, filtered: Tensor) -> Tensor:
    """Returns p(a_{i-1} = k | a_i = j, y_<i, x) [B, I, J, J] at [:, i, k, j]; 0 if unreached."""
    reached = predicted.clamp(min=torch.finfo(predicted.dtype).min)  # −inf less −inf would be nan
    return (filtered[:, :-1].unsqueeze(3) + transition).sub_(reached.unsqueeze(2)).exp_()


class _Forward(torch.autograd.Function):
    """The forward algorithm over a block. Its gradient is made of posteriors, as sums of paths."""

    @staticmethod
    def forward(
        ctx: Any, before: Tensor, transition: Tensor, emission: Tensor
    ) -> tuple[Tensor, Tensor]:
        evidence, predicted, filtered = _filter(before, transition, emission)
        ctx.save_for_backward(transition, predicted, filtered)
        return evidence, filtered[:, -1].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        grad, grad_last = grads  # [B, I], [B, J]
        transition, predicted, filtered = ctx.saved_tensors
        # Σ_i g_i log p(y_i | y_<i) = Σ_i (g_i − g_{i+1}) log p(y_≤i). The gradient of log p(y_≤i)
        # by what step i emits is the filtered distribution, by what the steps before emit where
        # that came from, and by the transitions in between what went from k to j.
        share = filtered[:, 1:].exp()
        seeds = (grad - F.pad(grad[:, 1:], (0, 1))).unsqueeze(2) * share
        origins = _origins(transition, predicted, filtered)
        arrived = []
        back = grad_last - share[:, -1] * grad_last.sum(1, keepdim=True)
        for origin, seed in zip(origins.unbind(1)[::-1], seeds.unbind(1)[::-1], strict=True):
            arrived.append(seed + back)
            back = (origin * arrived[-1].unsqueeze(1)).sum(2)
        positions = torch.stack(arrived[::-1], 1)
        return back, origins.mul_(positions.unsqueeze(2)), positions
