"""Torch kernels with hand-written gradients: emission and the forward algorithm.

Emission. The two halves of tanh(q_i + k_j) are computed only |y| and |x| times, and so are the
exponentials, since

    tanh(q + k) = 1 − 2 / (1 + exp(2q) · exp(2k)):

a cell (i, j) costs a product, a reciprocal and its share of one matrix product with W. A gate for
copying is one more column of that product. Cells are computed in chunks, so that memory does not
grow with |x|·|y|·|Σ|, and recomputed in the backward pass if their gradient is not negligible.

Positions may be left out, with a guaranteed bound: p(y_i | j) ≤ 1, so leaving out positions of
total weight s changes Σ_j by at most s. A step keeps its small set only if s / (what was kept) is
at most the tolerance; otherwise the rest is computed as well.

The forward algorithm sums over all |x|^|y| paths in |y|·|x|² operations, in log space. Transitions
are computed in blocks of steps, and recomputed in the backward pass, so that memory does not grow
with |y|·|x|². Those from each k sum to 1 over j, so a padding step, which emits nothing, changes no
sum. The gradient consists of posteriors, which follow from the origins
p(a_{i-1} = k | a_i = j, y_<i, x), from the last step back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from hardalign.systems.ops import Output, Transitions

CHUNK_FLOATS = 1 << 19
"""Floats in a chunk's largest buffers: 2 MB, which fits in a core's cache."""
BLOCK_FLOATS = 1 << 18
"""Transitions in a block: 1 MB. Words of ordinary length need only one."""
TANH_COST = 3
"""Cost of tanh in exponentials, on a CPU; with few cells it is cheaper than the shortcut."""


def log_joint(
    log_alpha: Tensor, output: Output, target: Tensor, mask: Tensor, tolerance: float = 0.0
) -> Tensor:
    """Compute ``Ops.log_joint``; −inf where a position was left out.

    ``tolerance`` bounds the relative error of a symbol's probability. Cells whose incoming gradient
    is at most this fraction of the largest in the same word are skipped in the backward pass.
    """
    with torch.no_grad():
        possible = mask.unsqueeze(-1) & (log_alpha > -torch.inf)
        likely = possible
        if tolerance > 0:
            # An even share of a tenth of the tolerance: enough for all steps with p(y_i) > 0.1.
            # Shared among the word's own positions: with padding it would depend on batch mates.
            shares = possible.sum(-1, keepdim=True) * (10 / tolerance)
            likely = possible & (log_alpha > -shares.log())
    emission = log_alpha.new_full(log_alpha.shape, -torch.inf)
    emission = emission.masked_fill(~mask.unsqueeze(-1), 0.0)
    emission = _fill(emission, likely, output, target, tolerance)
    if tolerance > 0:
        with torch.no_grad():
            rest = possible & ~likely
            kept = (log_alpha + emission).logsumexp(-1)  # [B, I]
            left_out = log_alpha.masked_fill(~rest, -torch.inf).logsumexp(-1)  # [B, I]
            uncertain = left_out - kept > math.log(tolerance)
            rest &= uncertain.unsqueeze(-1)
        if rest.any():
            emission = _fill(emission, rest, output, target, tolerance)
    return log_alpha + emission


def _fill(
    emission: Tensor, wanted: Tensor, output: Output, target: Tensor, tolerance: float
) -> Tensor:
    """Compute the wanted cells of ``emission``."""
    cells = wanted.nonzero(as_tuple=True)
    word, step, _ = cells
    return emission.index_put(cells, log_emission(output, cells, target[word, step], tolerance))


def log_emission(
    output: Output, cells: tuple[Tensor, ...], target: Tensor, tolerance: float = 0.0
) -> Tensor:
    """Return the log-probability [R] of one symbol ``target`` [R] for each cell, differentiable.

    ``cells`` are words, steps and positions, [R] each; ``tolerance`` is for gradients only.
    """
    word, step, position = cells
    rows = word * output.query.shape[1] + step
    columns = word * output.key.shape[1] + position
    gate: tuple[Tensor | None, ...] = (None, None, None)
    if output.copied is not None and output.gate is not None:
        gate = (output.gate.squeeze(1), output.gate_bias, output.copied[word, position])
    halves = (output.query.flatten(0, 1), output.key.flatten(0, 1))
    layer = (*halves, output.weight.t(), output.bias, *gate)
    return _Emission.apply(*layer, rows, columns, word, target, tolerance)  # type: ignore[no-any-return, no-untyped-call]


@dataclass(frozen=True)
class _Arithmetic:
    """The arithmetic of cells, shared by the forward and the backward pass."""

    query: Tensor  # [N, d_s] exp(2q), or q itself without the shortcut
    key: Tensor  # [M, d_s] exp(2k), or k itself
    weight: Tensor
    bias: Tensor
    shortcut: bool

    @classmethod
    def of(
        cls, query: Tensor, key: Tensor, weight: Tensor, bias: Tensor, cells: int
    ) -> _Arithmetic:
        """Prepare the halves for a number of cells."""
        # Half the largest exponent: neither factor overflows. Larger halves (saturated weights)
        # might cancel, and clamping them would change tanh of their sum: no shortcut then.
        limit = 43.0 if query.dtype == torch.float32 else 350.0
        # On a GPU, tanh is cheap, and reading back the largest half would stall it.
        worthwhile = query.device.type == "cpu" and cells * TANH_COST > len(query) + len(key)
        if not worthwhile or max(map(_largest, (query, key))) > limit:
            return cls(query, key, weight, bias, shortcut=False)
        return cls(query.mul(2).exp_(), key.mul(2).exp_(), weight, bias, shortcut=True)

    def activation(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return tanh(q + k) [R, d_s] of rows of each half."""
        query, key = self.query.index_select(0, rows), self.key.index_select(0, columns)
        if not self.shortcut:
            return query.add_(key).tanh_()
        return query.mul_(key).add_(1).reciprocal_().mul_(-2).add_(1)

    def logits(self, activation: Tensor) -> Tensor:
        """Return W f + b [R, V]."""
        return torch.addmm(self.bias, activation, self.weight.t())


def _gate_logits(activation: Tensor, weight: Tensor, bias: Tensor, own: Tensor) -> Tensor:
    """Return the logits of copying [R]; −inf where a position has no symbol ``own`` to copy."""
    return torch.addmv(bias, activation, weight).masked_fill_(own < 0, -torch.inf)


def _largest(tensor: Tensor) -> float:
    """Return the largest absolute value."""
    if not tensor.numel():
        return 0.0
    low, high = torch.aminmax(tensor)
    return max(-low.item(), high.item())


def _chunks(cells: int, weight: Tensor) -> Iterator[slice]:
    """Split a list of cells so that the buffers stay within ``CHUNK_FLOATS``."""
    size = max(64, CHUNK_FLOATS // (weight.shape[0] + weight.shape[1]))
    for start in range(0, cells, size):
        yield slice(start, start + size)


def _considerable(grad: Tensor, word: Tensor, tolerance: float) -> Tensor:
    """Return the cells [R'] whose gradients are not negligible beside the largest in the word."""
    if not tolerance:
        return torch.arange(len(grad), device=grad.device)
    size = grad.abs()
    words = int(word.max()) + 1 if len(word) else 0
    largest = size.new_zeros(words).scatter_reduce(0, word, size, "amax")
    # Negated rather than ">", so that nan gradients are kept.
    return (~(size <= tolerance * largest[word])).nonzero().squeeze(1)


class _Emission(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        query, key, weight, bias, gate_weight, gate_bias, own, *cells, tolerance = inputs
        rows, columns, _, target = cells
        layer = _Arithmetic.of(query, key, weight, bias, len(target))
        out: Tensor = query.new_empty(target.shape[0])
        for part in _chunks(target.shape[0], weight):
            activation = layer.activation(rows[part], columns[part])
            logits = layer.logits(activation)
            chosen = logits.gather(1, target[part, None]).squeeze(1)
            out[part] = chosen - logits.logsumexp(-1)
            if own is not None:
                gate = _gate_logits(activation, gate_weight, gate_bias, own[part])
                copied = F.logsigmoid(gate).masked_fill_(own[part] != target[part], -torch.inf)
                out[part] = torch.logaddexp(F.logsigmoid(-gate) + out[part], copied)
        gate_tensors = (gate_weight, gate_bias, own, None if own is None else out)
        ctx.save_for_backward(layer.query, layer.key, weight, bias, *gate_tensors, *cells)
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
                # Copying has a share r in p(y | j), and the softmax the rest; therefore
                # d log p(y | j) / d gate = r − sigmoid(gate).
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


def forward_algorithm(transitions: Transitions, emission: Tensor) -> Tensor:
    """Return log p(y_i | y_<i, x) [B, I], differentiable; see ``Ops.forward``."""

    def run(before: Tensor, steps: slice, emitted: Tensor) -> tuple[Tensor, Tensor]:
        return _Forward.apply(before, transitions(steps), emitted)  # type: ignore[no-any-return, no-untyped-call]

    blocks = _blocks(emission)
    before, evidence = torch.full_like(emission[:, 0], -torch.inf), []
    before[:, 0] = 0.0  # the chain begins at position 0
    # Split, not sliced: the gradient of a slice is as large as the whole tensor.
    parts = torch.split(emission, [steps.stop - steps.start for steps in blocks], 1)
    for steps, emitted in zip(blocks, parts, strict=True):
        if len(blocks) > 1:
            block, before = checkpoint(run, before, steps, emitted, use_reentrant=False)
        else:
            block, before = run(before, steps, emitted)
        evidence.append(block)
    return torch.cat(evidence, 1)


def _blocks(emission: Tensor) -> list[slice]:
    """Split the steps into slices whose transitions stay within ``BLOCK_FLOATS``."""
    rows, steps, positions = emission.shape
    size = max(1, BLOCK_FLOATS // (rows * positions**2))
    return [slice(start, min(start + size, steps)) for start in range(0, steps, size)]


def _filter(before: Tensor, transition: Tensor, emission: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Run the forward algorithm over a block of steps, normalising at each.

    Returns:
        log p(y_i | y_<i, x) [B, I]; predicted, log p(a_i = j | y_<i, x) [B, I, J]; and filtered,
        log p(a_i = j | y_≤i, x) [B, I + 1, J], beginning with ``before`` [B, J].
    """
    evidence, predicted, filtered = [], [], [before]
    for move, emitted in zip(transition.unbind(1), emission.unbind(1), strict=True):
        predicted.append((filtered[-1].unsqueeze(2) + move).logsumexp(1))  # over k
        joint = predicted[-1] + emitted
        evidence.append(joint.logsumexp(1, keepdim=True))
        filtered.append(joint - evidence[-1])
    return torch.cat(evidence, 1), torch.stack(predicted, 1), torch.stack(filtered, 1)


def _origins(transition: Tensor, predicted: Tensor, filtered: Tensor) -> Tensor:
    """Return p(a_{i-1} = k | a_i = j, y_<i, x) [B, I, J, J] at [:, i, k, j]; 0 if unreached."""
    reached = predicted.clamp(min=torch.finfo(predicted.dtype).min)  # −inf − (−inf) is nan
    return (filtered[:, :-1].unsqueeze(3) + transition).sub_(reached.unsqueeze(2)).exp_()


class _Forward(torch.autograd.Function):
    """The forward algorithm over a block; its gradient consists of posteriors, sums over paths."""

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
        # is the filtered distribution for the emission of step i, the distribution of its origins
        # for earlier emissions, and that of moves from k to j for the transitions in between.
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
