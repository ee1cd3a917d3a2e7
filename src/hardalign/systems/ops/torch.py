"""The operations in torch, for training: with gradients and dropout, on any device."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import PAD, UNKNOWN
from hardalign.systems.ops import Array, Encoder, Feed, Ops, Output, Transitions
from hardalign.systems.ops.torch_kernels import forward_algorithm, log_joint

Layers = list[tuple[Tensor, Tensor]]
"""The h and c [N, H] of each layer of a decoder."""
TOLERANCE = 1e-6
"""Relative error allowed in values and gradients in training: about that of float32."""
ONEDNN: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
LARGE_PRODUCT = 1 << 22
"""Number of multiplications from which oneDNN is worth copying the input."""


class TorchOps(Ops):
    """The engine of one network."""

    learns = True
    never = -torch.inf

    exp = staticmethod(torch.exp)
    tanh = staticmethod(torch.tanh)
    where = staticmethod(torch.where)
    concatenate = staticmethod(torch.cat)
    stack = staticmethod(torch.stack)

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self.training = False
        self.unknown_rates: dict[str, Tensor] = {}
        """Probability [symbols] of reading each symbol as unknown, by embedding."""

    def arange(self, stop: Any, like: Tensor) -> Tensor:
        return torch.arange(stop, device=like.device)

    def repeat(self, x: Tensor, times: int, axis: int = 0) -> Tensor:
        return x if times == 1 else x.repeat_interleave(times, axis)

    def zeros(self, like: Tensor, *shape: int) -> Tensor:
        return like.new_zeros(shape)

    def array(self, x: Array, like: Tensor) -> Tensor:
        return torch.from_numpy(x).to(like.device)

    def numpy(self, x: Tensor) -> Array:
        return x.detach().cpu().numpy()

    def log_softmax(self, x: Tensor) -> Tensor:
        return x.log_softmax(-1)

    def logsumexp(self, x: Tensor, axis: int = -1) -> Tensor:
        return x.logsumexp(axis)

    def logaddexp(self, x: Tensor, y: Any) -> Tensor:
        return torch.logaddexp(x, torch.as_tensor(y, dtype=x.dtype, device=x.device))

    def take(self, x: Tensor, index: Tensor, axis: int) -> Tensor:
        shape = list(x.shape)
        shape[axis] = index.shape[axis]
        return x.gather(axis, index.expand(shape))

    def rows(self, x: Tensor, index: Tensor | None) -> Tensor:
        return x if index is None else x[index]

    def lookup(self, table: Array, symbols: Tensor, first: int) -> Tensor:
        # Training data has no out-of-vocabulary symbols.
        return torch.as_tensor(table, device=symbols.device)[symbols]

    def embed(self, table: Tensor, index: Tensor) -> Tensor:
        return F.embedding(index, table) if table.dim() == 2 else table[index]

    def matrix(self, weight: Tensor) -> Tensor:
        return weight.t()

    def project(self, x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
        return linear(x, matrix.t(), bias)

    def dropout(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.config.dropout, self.training)

    def encoder(self, p: Mapping[str, Tensor]) -> Encoder:
        return partial(encode, self, p)

    def decoder(self, p: Mapping[str, Tensor]) -> Any:  # training never steps
        return Decoder(self, p)

    def log_joint(self, log_alpha: Tensor, output: Output, classes: Tensor, mask: Tensor) -> Tensor:
        # On a GPU, leaving cells out costs more than it saves: their indices must be read back.
        tolerance = TOLERANCE if self.training and log_alpha.device.type == "cpu" else 0.0
        return log_joint(log_alpha, output, classes, mask, tolerance)

    def forward(self, transitions: Transitions, emission: Tensor) -> tuple[Tensor, None]:
        return forward_algorithm(transitions, emission), None

    def read(self, name: str, p: Mapping[str, Tensor], symbols: Tensor) -> Tensor:
        """Embed symbols, with unknown-symbol dropout in training."""
        rates = self.unknown_rates.get(name)
        if self.training and rates is not None:
            noise = torch.rand(symbols.shape, device=symbols.device)
            symbols = symbols.masked_fill(noise < rates.to(symbols.device)[symbols], UNKNOWN)
        return F.embedding(symbols, p[f"{name}.weight"], padding_idx=PAD)


def encode(xp: TorchOps, p: Mapping[str, Tensor], symbols: Tensor, lengths: Tensor) -> Tensor:
    """Run a bidirectional LSTM that is unaffected by padding.

    PyTorch's own would start its backward direction in the padding, and packed sequences bypass
    the fast CPU kernels, so the backward direction reads each word reversed within its own length.
    """
    position = torch.arange(symbols.shape[1], device=symbols.device)  # [J]
    mirrored = lengths.unsqueeze(1) - 1 - position  # [B, J]
    mirrored = torch.where(mirrored >= 0, mirrored, position)
    word = torch.arange(len(symbols), device=symbols.device).unsqueeze(1)  # [B, 1]
    states = xp.read("encoder.embedding", p, symbols)
    for layer in range(xp.config.encoder_layers):
        states = xp.dropout(states)
        ahead = _lstm(states, p, f"encoder.forwards.{layer}")
        back = _lstm(states[word, mirrored], p, f"encoder.backwards.{layer}")
        states = torch.cat([ahead, back[word, mirrored]], -1)
    return F.dropout(states, xp.config.state_dropout, xp.training)


class Decoder:
    """An LSTM over the embedding of the previous symbol and an extra vector."""

    def __init__(self, xp: TorchOps, p: Mapping[str, Tensor]) -> None:
        self._xp, self._p = xp, p
        self._layers = xp.config.decoder_layers

    def follow(self, previous: Tensor, extra: Tensor | None) -> Tensor:
        xp, inputs = self._xp, self._embedded(previous)
        if extra is not None and extra.dim() == 2:  # tags, which are embeddings too
            extra = xp.dropout(extra.unsqueeze(1).expand(-1, previous.shape[1], -1))
        if extra is not None:
            inputs = torch.cat([inputs, extra], -1)
        between = xp.config.dropout if xp.training else 0.0
        return xp.dropout(_lstm(inputs, self._p, "decoder.lstm", self._layers, between))

    def begin(self, rows: int, extra: Tensor | None = None) -> Layers:
        weight = self._p["decoder.cells.0.weight_hh"]
        zeros = weight.new_zeros(rows, weight.shape[1])
        return [(zeros, zeros)] * self._layers

    def feed(self, previous: Tensor) -> Feed:
        xp, inputs, merge = self._xp, self._embedded(previous), None
        if "decoder.feeding.merge.weight" in self._p:
            weight, bias = (self._p[f"decoder.feeding.merge.{name}"] for name in ("weight", "bias"))
            merge = weight[:, inputs.shape[2] :].t()
            inputs = F.linear(inputs, weight[:, : inputs.shape[2]], bias)
        parts = inputs.unbind(1)
        weights = [
            [self._p[f"decoder.cells.{layer}.{kind}"] for kind in KINDS]
            for layer in range(self._layers)
        ]

        def step(i: int, hidden: Layers, extra: Tensor) -> tuple[Tensor, Layers]:
            if merge is None:
                state = torch.cat([parts[i], extra], 1)
            else:
                state = torch.addmm(parts[i], extra, merge)
            after: Layers = []
            for own, before in zip(weights, hidden, strict=True):
                # Not torch.lstm, which is twice as slow for a single step on a CPU.
                after.append(torch.lstm_cell(state, before, *own))
                state = xp.dropout(after[-1][0])
            return state.unsqueeze(1), after

        return step

    def _embedded(self, symbols: Tensor) -> Tensor:
        """Embed symbols, with dropout of whole embeddings and of single elements."""
        xp = self._xp
        embedded = xp.read("decoder.embedding", self._p, symbols)
        if xp.config.symbol_dropout:
            embedded = F.dropout1d(embedded, xp.config.symbol_dropout, xp.training)
        return xp.dropout(embedded)


KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x Wᵀ + b, like F.linear.

    Large products on a CPU use oneDNN: torch's default, MKL, leaves half of an AMD processor idle.
    """
    large = x.numel() * len(weight) >= LARGE_PRODUCT
    if large and ONEDNN and x.device.type == "cpu" and x.dtype == torch.float32:
        return F.linear(x.to_mkldnn(), weight, bias).to_dense()
    return F.linear(x, weight, bias)


def _lstm(
    inputs: Tensor, p: Mapping[str, Tensor], name: str, layers: int = 1, dropout: float = 0.0
) -> Tensor:
    """Return the outputs [B, I, H] of an LSTM over inputs [B, I, ·]."""
    weights = [p[f"{name}.{kind}_l{layer}"] for layer in range(layers) for kind in KINDS]
    zeros = inputs.new_zeros(layers, len(inputs), weights[1].shape[1])
    states, _, _ = torch.lstm(
        inputs, (zeros, zeros), weights, True, layers, dropout, dropout > 0, False, True
    )
    return states
