"""What each source position would emit: log p(y_i | a_i = j, y_<i, x), for many (i, j) at once.

The paper's f(h_i, e_j) = tanh(S (h_i ⊕ e_j)) splits into a half from the decoder and a half from
the encoder, tanh(q_i + k_j), which costs |y| + |x| matrix products instead of |y|·|x|. And

    tanh(q + k) = 1 − 2 / (1 + exp(2q) · exp(2k)),

so that the exponentials, too, are taken |y| + |x| times only: a cell (i, j) costs a product, a
reciprocal and its share of one matrix product with W.

Work is done on a list of cells, in chunks, so that memory does not grow with |x|·|y|·|Σ|. Nothing
of a cell is kept for the backward pass; it recomputes what it needs, and only for cells whose
gradient is not negligible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

CHUNK_FLOATS = 1 << 19
"""Floats in a chunk's largest buffers: 2 MB, which stays in a core's cache."""
TANH_COST = 3
"""What tanh costs in exponentials, on a CPU: with few cells it is cheaper than the shortcut."""


@dataclass(frozen=True)
class Cells:
    """Which (decoder row, encoder row) pairs to compute, as two index lists of equal length."""

    query: Tensor
    """[R] rows of the decoder half."""
    key: Tensor
    """[R] rows of the encoder half."""

    def __len__(self) -> int:
        return self.query.shape[0]


def emission_log_probs(
    query: Tensor, key: Tensor, weight: Tensor, bias: Tensor, cells: Cells
) -> Tensor:
    """Log-probabilities of every symbol for each cell, without gradient, for decoding.

    Args:
        query: [N, d_s] decoder half of S(h ⊕ e), bias included.
        key: [M, d_s] encoder half.
        weight: [V, d_s] W.
        bias: [V] its bias.
        cells: R pairs of rows.

    Returns:
        [R, V]
    """
    with _full_precision(query):
        halves = (query.to(weight.dtype), key.to(weight.dtype))
        layer = _Emission.of(*halves, weight, bias, len(cells))
        out = weight.new_empty(len(cells), weight.shape[0])
        for part in _chunks(len(cells), weight):
            out[part] = layer.logits(layer.activation(cells.query[part], cells.key[part]))
        return out.log_softmax(-1)


def emission_log_prob(
    query: Tensor,
    key: Tensor,
    weight: Tensor,
    bias: Tensor,
    cells: Cells,
    target: Tensor,
    tolerance: float = 0.0,
) -> Tensor:
    """Log-probability of one given symbol for each cell, differentiable.

    Args:
        query: [N, d_s] decoder half of S(h ⊕ e), bias included.
        key: [M, d_s] encoder half.
        weight: [V, d_s] W.
        bias: [V] its bias.
        cells: R pairs of rows.
        target: [R] the symbol of each cell.
        tolerance: The backward pass leaves out cells whose gradient is at most this fraction of
            the largest one; 0 leaves out none that matters.

    Returns:
        [R]
    """
    with _full_precision(query):
        layer = [half.to(weight.dtype) for half in (query, key)]
        arguments = (*layer, weight, bias, cells.query, cells.key, target, tolerance)
        return _EmissionLogProb.apply(*arguments)  # type: ignore[no-any-return, no-untyped-call]


def _full_precision(tensor: Tensor) -> torch.autocast:
    """Mixed precision ends here: exponentials and log-sum-exps need all their digits."""
    return torch.autocast(tensor.device.type, enabled=False)


@dataclass(frozen=True)
class _Emission:
    """The arithmetic of a cell, shared by the forward and the backward pass."""

    query: Tensor
    """[N, d_s] exp(2q), or q itself without the shortcut."""
    key: Tensor
    """[M, d_s] exp(2k), or k itself."""
    weight: Tensor
    bias: Tensor
    shortcut: bool

    @classmethod
    def of(cls, query: Tensor, key: Tensor, weight: Tensor, bias: Tensor, cells: int) -> _Emission:
        """Prepare the halves for some number of cells."""
        # Half the largest exponent: neither factor overflows. Larger halves (saturated weights)
        # might cancel, so that clamping them would change tanh of their sum: no shortcut then.
        limit = 43.0 if query.dtype == torch.float32 else 350.0
        worthwhile = cells * TANH_COST > len(query) + len(key)
        if not worthwhile or max(map(_largest, (query, key))) > limit:
            return cls(query, key, weight, bias, shortcut=False)
        return cls(query.mul(2).exp_(), key.mul(2).exp_(), weight, bias, shortcut=True)

    def activation(self, query: Tensor, key: Tensor) -> Tensor:
        """[R, d_s] tanh(q + k) of the given rows."""
        query, key = self.query.index_select(0, query), self.key.index_select(0, key)
        if not self.shortcut:
            return query.add_(key).tanh_()
        return query.mul_(key).add_(1).reciprocal_().mul_(-2).add_(1)

    def logits(self, activation: Tensor) -> Tensor:
        """[R, V] W f + b."""
        return torch.addmm(self.bias, activation, self.weight.t())


def _largest(tensor: Tensor) -> float:
    """The largest absolute value."""
    if not tensor.numel():
        return 0.0
    low, high = torch.aminmax(tensor)
    return max(-low.item(), high.item())


def _chunks(cells: int, weight: Tensor) -> Iterator[slice]:
    """Slices of the cell list whose buffers stay within ``CHUNK_FLOATS``."""
    size = max(64, CHUNK_FLOATS // (weight.shape[0] + weight.shape[1]))
    for start in range(0, cells, size):
        yield slice(start, start + size)


class _EmissionLogProb(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        weight: Tensor,
        bias: Tensor,
        query_rows: Tensor,
        key_rows: Tensor,
        target: Tensor,
        tolerance: float,
    ) -> Tensor:
        layer = _Emission.of(query, key, weight, bias, len(target))
        out = query.new_empty(target.shape[0])
        for part in _chunks(target.shape[0], weight):
            logits = layer.logits(layer.activation(query_rows[part], key_rows[part]))
            chosen = logits.gather(1, target[part, None]).squeeze(1)
            out[part] = chosen - logits.logsumexp(-1)
        ctx.save_for_backward(layer.query, layer.key, weight, bias, query_rows, key_rows, target)
        ctx.shortcut, ctx.tolerance = layer.shortcut, tolerance
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = grads
        query, key, weight, bias, query_rows, key_rows, target = ctx.saved_tensors
        grad_query, grad_key = torch.zeros_like(query), torch.zeros_like(key)
        grad_weight, grad_bias = torch.zeros_like(weight), torch.zeros_like(bias)
        size = grad.abs()
        # "Not at most", so that a gradient that is not a number is not lost.
        negligible = size <= ctx.tolerance * (size.max() if len(size) else 0.0)
        kept = (~negligible).nonzero().squeeze(1)
        layer = _Emission(query, key, weight, bias, ctx.shortcut)
        for part in _chunks(len(kept), weight):
            cells = kept[part]
            rows, columns = query_rows[cells], key_rows[cells]
            activation = layer.activation(rows, columns)
            # d log softmax(z)_y / dz = onehot(y) − softmax(z)
            outer = grad[cells, None]
            grad_logits = layer.logits(activation).softmax(-1).mul_(-outer)
            grad_logits.scatter_add_(1, target[cells, None], outer)
            grad_weight.addmm_(grad_logits.t(), activation)
            grad_bias.add_(grad_logits.sum(0))
            slope = activation.square_().neg_().add_(1)  # tanh' = 1 − tanh²
            grad_sum = (grad_logits @ weight).mul_(slope)
            grad_query.index_add_(0, rows, grad_sum)
            grad_key.index_add_(0, columns, grad_sum)
        return grad_query, grad_key, grad_weight, grad_bias, None, None, None, None
