"""log α_j(i) + log p(y_i | j, y_<i, x) in torch, for many (i, j) at once; see ``plain.log_joint``.

The two halves of tanh(q_i + k_j) are computed |y| and |x| times only, and so are the exponentials,
since

    tanh(q + k) = 1 − 2 / (1 + exp(2q) · exp(2k)):

a cell (i, j) costs a product, a reciprocal and its share of one matrix product with W. A gate for
copying is one more column of that product.

Work is done on a list of cells, in chunks, so that memory does not grow with |x|·|y|·|Σ|. No vector
of a cell is kept for the backward pass; it recomputes what it needs, and only for cells whose
gradient is not negligible.

Positions that cannot matter may be left out, with a certified bound: p(y_i | j) ≤ 1, so leaving out
positions of total weight s changes Σ_j by at most s. A step keeps its small set only where
s / (what was kept) is at most the tolerance; otherwise the rest is computed as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from hardalign.systems.ops import Output

CHUNK_FLOATS = 1 << 19
"""Floats in a chunk's largest buffers: 2 MB, which stays in a core's cache."""
TANH_COST = 3
"""What tanh costs in exponentials, on a CPU: with few cells it is cheaper than the shortcut."""


@dataclass(frozen=True)
class Tolerance:
    """What may be left out because it hardly counts."""

    value: float = 0.0
    """Largest relative error of a symbol's probability from leaving positions out."""
    gradient: float = 0.0
    """Cells are left out of the backward pass whose incoming gradient is at most this fraction of
    the largest one of the same word. Other words do not matter."""


EXACT = Tolerance()
TRAINING = Tolerance(value=1e-6, gradient=1e-6)
"""What training may leave out: about what float32 does anyway."""


def log_joint(
    log_alpha: Tensor, output: Output, target: Tensor, steps: Tensor, tolerance: Tolerance = EXACT
) -> Tensor:
    """Returns log α_j(i) + log p(y_i | j) for every step i and position j.

    Its logsumexp over j is the log-probability of y_i; its softmax over j is the posterior
    p(a_i = j | x, y).

    Args:
        log_alpha: [B, I, J] log alignment distribution, −inf at padding positions.
        output: The output layer and what goes into it; one word for each row.
        target: [B, I] columns of the symbols, any value at padding steps.
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
    emission = log_alpha.new_full(log_alpha.shape, -torch.inf)
    emission = emission.masked_fill(~steps.unsqueeze(-1), 0.0)
    emission = _fill(emission, likely, output, target, tolerance)
    if tolerance.value > 0:
        with torch.no_grad():
            rest = possible & ~likely
            kept = (log_alpha + emission).logsumexp(-1)  # [B, I]
            left_out = log_alpha.masked_fill(~rest, -torch.inf).logsumexp(-1)  # [B, I]
            uncertain = left_out - kept > math.log(tolerance.value)
            rest &= uncertain.unsqueeze(-1)
        if rest.any():
            emission = _fill(emission, rest, output, target, tolerance)
    return log_alpha + emission


def _fill(
    emission: Tensor, wanted: Tensor, output: Output, target: Tensor, tolerance: Tolerance
) -> Tensor:
    """Computes the wanted cells of ``emission``."""
    cells = wanted.nonzero(as_tuple=True)
    word, step, _ = cells
    values = emission_log_prob(output, cells, target[word, step], tolerance.gradient)
    return emission.index_put(cells, values)


def emission_log_prob(
    output: Output,
    cells: tuple[Tensor, ...],
    target: Tensor,
    gradient_tolerance: float = 0.0,
) -> Tensor:
    """Returns the log-probability of one known symbol for each cell, differentiable.

    Args:
        output: The output layer and what goes into it.
        cells: Words, steps and positions, [R] each.
        target: [R] the column of each cell's symbol.
        gradient_tolerance: See ``Tolerance.gradient``.

    Returns:
        [R]
    """
    word, step, position = cells
    halves = [half.flatten(0, 1) for half in (output.query, output.key)]
    rows = word * output.query.shape[1] + step
    columns = word * output.key.shape[1] + position
    gate: tuple[Tensor | None, ...] = (None, None, None)
    if output.copied is not None and output.gate is not None:
        gate = (output.gate.squeeze(1), output.gate_bias, output.copied[word, position])
    return _EmissionLogProb.apply(  # type: ignore[no-any-return, no-untyped-call]
        *halves,
        output.weight.t(),
        output.bias,
        *gate,
        rows,
        columns,
        word,
        target,
        gradient_tolerance,
    )


@dataclass(frozen=True)
class _Arithmetic:
    """The arithmetic of a cell, shared by the forward and the backward pass."""

    query: Tensor
    """[N, d_s] exp(2q), or q itself without the shortcut."""
    key: Tensor
    """[M, d_s] exp(2k), or k itself."""
    weight: Tensor
    bias: Tensor
    shortcut: bool

    @classmethod
    def of(
        cls, query: Tensor, key: Tensor, weight: Tensor, bias: Tensor, cells: int
    ) -> _Arithmetic:
        """Prepares the halves for some number of cells."""
        # Half the largest exponent: neither factor overflows. Larger halves (saturated weights)
        # might cancel, so that clamping them would change tanh of their sum: no shortcut then.
        limit = 43.0 if query.dtype == torch.float32 else 350.0
        worthwhile = cells * TANH_COST > len(query) + len(key)
        if not worthwhile or max(map(_largest, (query, key))) > limit:
            return cls(query, key, weight, bias, shortcut=False)
        return cls(query.mul(2).exp_(), key.mul(2).exp_(), weight, bias, shortcut=True)

    def activation(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Returns tanh(q + k) [R, d_s] of some rows of each half."""
        query, key = self.query.index_select(0, rows), self.key.index_select(0, columns)
        if not self.shortcut:
            return query.add_(key).tanh_()
        return query.mul_(key).add_(1).reciprocal_().mul_(-2).add_(1)

    def logits(self, activation: Tensor) -> Tensor:
        """Returns W f + b [R, V]."""
        return torch.addmm(self.bias, activation, self.weight.t())


def _gate_logits(activation: Tensor, weight: Tensor, bias: Tensor, own: Tensor) -> Tensor:
    """Returns logits of copying [R]; −inf where a position has no symbol ``own`` [R] to copy."""
    return torch.addmv(bias, activation, weight).masked_fill_(own < 0, -torch.inf)


def _largest(tensor: Tensor) -> float:
    """Returns the largest absolute value."""
    if not tensor.numel():
        return 0.0
    low, high = torch.aminmax(tensor)
    return max(-low.item(), high.item())


def _chunks(cells: int, weight: Tensor) -> Iterator[slice]:
    """Yields slices of the cell list whose buffers stay within ``CHUNK_FLOATS``."""
    size = max(64, CHUNK_FLOATS // (weight.shape[0] + weight.shape[1]))
    for start in range(0, cells, size):
        yield slice(start, start + size)


def _considerable(grad: Tensor, word: Tensor, tolerance: float) -> Tensor:
    """Returns the cells [R'] whose gradients count beside the largest one of the same word."""
    size = grad.abs()
    words = int(word.max()) + 1 if len(word) else 0
    largest = size.new_zeros(words).scatter_reduce(0, word, size, "amax")
    # "Not at most", so that a gradient that is not a number is not lost.
    return (~(size <= tolerance * largest[word])).nonzero().squeeze(1)


class _EmissionLogProb(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        weight: Tensor,
        bias: Tensor,
        gate_weight: Tensor | None,
        gate_bias: Tensor | None,
        own: Tensor | None,
        rows: Tensor,
        columns: Tensor,
        word: Tensor,
        target: Tensor,
        tolerance: float,
    ) -> Tensor:
        layer = _Arithmetic.of(query, key, weight, bias, len(target))
        out = query.new_empty(target.shape[0])
        for part in _chunks(target.shape[0], weight):
            activation = layer.activation(rows[part], columns[part])
            logits = layer.logits(activation)
            chosen = logits.gather(1, target[part, None]).squeeze(1)
            out[part] = chosen - logits.logsumexp(-1)
            if gate_weight is not None and gate_bias is not None and own is not None:
                gate = _gate_logits(activation, gate_weight, gate_bias, own[part])
                copied = F.logsigmoid(gate).masked_fill_(own[part] != target[part], -torch.inf)
                out[part] = torch.logaddexp(F.logsigmoid(-gate) + out[part], copied)
        gate_tensors = (gate_weight, gate_bias, own, None if own is None else out)
        indices = (rows, columns, word, target)
        ctx.save_for_backward(layer.query, layer.key, weight, bias, *gate_tensors, *indices)
        ctx.shortcut, ctx.tolerance = layer.shortcut, tolerance
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = grads
        query, key, weight, bias, *gate_tensors, rows, columns, word, target = ctx.saved_tensors
        gate_weight, gate_bias, own, log_probs = gate_tensors
        grad_query, grad_key = torch.zeros_like(query), torch.zeros_like(key)
        grad_weight, grad_bias = torch.zeros_like(weight), torch.zeros_like(bias)
        copying = own is not None
        grad_gate_weight, grad_gate_bias = weight.new_zeros(weight.shape[1]), weight.new_zeros(1)
        kept = _considerable(grad, word, ctx.tolerance)
        layer = _Arithmetic(query, key, weight, bias, ctx.shortcut)
        for part in _chunks(len(kept), weight):
            cells = kept[part]
            activation = layer.activation(rows[cells], columns[cells])
            # d log softmax(z)_y / dz = onehot(y) − softmax(z)
            outer, symbol = grad[cells, None], target[cells, None]
            probs = layer.logits(activation).softmax(-1)
            if copying:
                # The symbol was copied with probability r, its share of p(y | j): only the rest
                # is due to the softmax, and d log p(y | j) / d gate = r − sigmoid(gate).
                gate = _gate_logits(activation, gate_weight, gate_bias, own[cells]).unsqueeze(1)
                share = F.logsigmoid(gate).sub_(log_probs[cells, None]).exp_()
                share.masked_fill_(own[cells, None] != symbol, 0.0)
                grad_gate = (share - gate.sigmoid_()).mul_(outer)
                grad_gate_weight.addmv_(activation.t(), grad_gate.squeeze(1))
                grad_gate_bias.add_(grad_gate.sum())
                outer = outer * (1 - share)
            grad_logits = probs.mul_(-outer)
            grad_logits.scatter_add_(1, symbol, outer)
            grad_weight.addmm_(grad_logits.t(), activation)
            grad_bias.add_(grad_logits.sum(0))
            slope = activation.square_().neg_().add_(1)  # tanh' = 1 − tanh²
            grad_sum = grad_logits @ weight
            if copying:
                grad_sum.addr_(grad_gate.squeeze(1), gate_weight)
            grad_sum.mul_(slope)
            grad_query.index_add_(0, rows[cells], grad_sum)
            grad_key.index_add_(0, columns[cells], grad_sum)
        grads_of_layer = (grad_query, grad_key, grad_weight, grad_bias)
        grads_of_gate = (grad_gate_weight, grad_gate_bias) if copying else (None, None)
        return *grads_of_layer, *grads_of_gate, *(None,) * 6
