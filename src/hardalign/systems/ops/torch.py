"""The operations in torch, for learning: with gradients, dropout, and on any device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import END, PAD, UNKNOWN
from hardalign.systems.ops import Array, Feed, Output, Transitions, plain
from hardalign.systems.ops.torch_chain import forward_algorithm
from hardalign.systems.ops.torch_emission import EXACT, TRAINING, log_joint

Layers = list[tuple[Tensor, Tensor]]
"""The h and c [N, H] of each layer of a decoder."""


class TorchOps:
    """The engine of one network."""

    learns = True
    never = -torch.inf

    exp = staticmethod(torch.exp)
    tanh = staticmethod(torch.tanh)
    log_softmax = staticmethod(lambda x: x.log_softmax(-1))
    constant = staticmethod(torch.no_grad)

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self.training = False
        """Whether there is dropout."""
        self.unknown_rates: dict[str, Tensor] = {}
        """[symbols] how often training reads each symbol as unknown, by the embedding's name."""

    def arange(self, stop: Any, like: Tensor) -> Tensor:
        return torch.arange(stop, device=like.device)

    def longest(self, lengths: Tensor) -> int:
        return int(lengths.max())

    def where(self, condition: Tensor, x: Any, y: Any) -> Tensor:
        return torch.where(condition, x, y)

    def concatenate(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        return torch.cat(list(parts), axis)

    def stack(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        return torch.stack(list(parts), axis)

    def repeat(self, x: Tensor, times: int, axis: int = 0) -> Tensor:
        return x if times == 1 else x.repeat_interleave(times, axis)

    def zeros(self, like: Tensor, *shape: int) -> Tensor:
        return like.new_zeros(shape)

    def array(self, x: Array, like: Tensor) -> Tensor:
        return torch.from_numpy(x).to(like.device)

    def numpy(self, x: Tensor) -> Array:
        return x.detach().cpu().numpy()

    def sum(self, x: Tensor, axis: int) -> Tensor:
        return x.sum(axis)

    def transpose(self, x: Tensor) -> Tensor:
        return x.transpose(-1, -2)

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

    def best(self, x: Tensor) -> Tensor:
        return F.one_hot(x.argmax(-1), x.shape[-1]).to(x.dtype)

    def masked(self, x: Tensor, mask: Tensor) -> Tensor:
        return x.masked_fill(~mask, -torch.inf)

    def lookup(self, table: Array, symbols: Tensor, first: int) -> Tensor:
        del first  # training data has nothing out of vocabulary
        return torch.as_tensor(table, device=symbols.device)[symbols]

    def embed(self, table: Tensor, index: Tensor) -> Tensor:
        return F.embedding(index, table) if table.dim() == 2 else table[index]

    def matrix(self, weight: Tensor) -> Tensor:
        return weight.t()

    def project(self, x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
        return F.linear(x, matrix.t(), bias)

    def dense(self, x: Tensor) -> Tensor:
        return x

    def dropout(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.config.dropout, self.training)

    def encoder(self, parameters: Mapping[str, Tensor]) -> Encoder:
        return Encoder(self, parameters)

    def decoder(self, parameters: Mapping[str, Tensor]) -> Decoder:
        return Decoder(self, parameters)

    def log_prob(self, logits: Tensor, classes: Tensor) -> Tensor:
        return logits.gather(-1, classes.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1)

    def log_joint(
        self, log_alpha: Tensor, output: Output, classes: Tensor, steps: Tensor
    ) -> Tensor:
        tolerance = TRAINING if self.training else EXACT
        return log_joint(log_alpha, output, classes, steps, tolerance)

    def mixture(self, log_alpha: Tensor, output: Output, tolerance: float) -> tuple[Array, Array]:
        del tolerance
        return plain.mixture(self, log_alpha, output)  # for tests: training never steps

    def origins(self, cells: Array, rows: Array | None, symbols: Array) -> Array:
        return plain.origins(self, self.rows(cells, rows), (symbols - END).clip(0))

    def begin_cells(self, like: Array, columns: int) -> Array:
        return plain.begin_cells(self, like, columns)

    def forward(self, transitions: Transitions, emission: Tensor) -> tuple[Tensor, None]:
        return forward_algorithm(transitions, emission), None

    def read(self, name: str, parameters: Mapping[str, Tensor], symbols: Tensor) -> Tensor:
        """Embeds symbols; training reads rare ones as unknown now and then."""
        rates = self.unknown_rates.get(name)
        if self.training and rates is not None:
            noise = torch.rand(symbols.shape, device=symbols.device)
            symbols = symbols.masked_fill(noise < rates.to(symbols.device)[symbols], UNKNOWN)
        return F.embedding(symbols, parameters[f"{name}.weight"], padding_idx=PAD)


class Encoder:
    """A bidirectional LSTM that is exact under padding.

    PyTorch's own would start its backward direction in the padding; packed sequences avoid that but
    leave the fast CPU kernels. Here the backward direction is an LSTM of its own that reads every
    word reversed within its own length: one gather before, one after.
    """

    def __init__(self, xp: TorchOps, parameters: Mapping[str, Tensor]) -> None:
        self._xp, self._p = xp, parameters

    def __call__(self, symbols: Tensor, lengths: Tensor) -> Tensor:
        """Returns the states [B, J, 2H] of symbols [B, J]."""
        xp, p = self._xp, self._p
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
    """An LSTM over the embedding of the last symbol and a vector beside it."""

    def __init__(self, xp: TorchOps, parameters: Mapping[str, Tensor]) -> None:
        self._xp, self._p = xp, parameters
        self._layers = xp.config.decoder_layers

    def follow(self, previous: Tensor, extra: Tensor | None) -> Tensor:
        """Reads whole strings [P, I]; returns states [P, I, H]."""
        xp, inputs = self._xp, self._embedded(previous)
        if extra is not None and extra.dim() == 2:  # tags, which are embeddings too
            extra = xp.dropout(extra.unsqueeze(1).expand(-1, previous.shape[1], -1))
        if extra is not None:
            inputs = torch.cat([inputs, extra], -1)
        between = xp.config.dropout if xp.training else 0.0
        return xp.dropout(_lstm(inputs, self._p, "decoder.lstm", self._layers, between))

    def begin(self, rows: int, extra: Tensor | None = None) -> tuple[Layers, Tensor | None]:
        """Returns zeros."""
        weight = self._weights(0)[1]
        zeros = weight.new_zeros(rows, weight.shape[1])
        return [(zeros, zeros)] * self._layers, extra

    def step(
        self, hidden: tuple[Layers, Tensor | None], rows: Tensor | None, symbols: Tensor
    ) -> tuple[Tensor, tuple[Layers, Tensor | None]]:
        """Reads one symbol [N] each, on from ``rows`` [N]; returns states [N, 1, H]."""
        layers, extra = hidden
        extra = extra if extra is None or rows is None else extra[rows]
        beside = symbols.new_zeros(len(symbols), 0).to(layers[0][0]) if extra is None else extra
        h, (layers, _) = self.enter(symbols.unsqueeze(1))(0, hidden, rows, beside)
        return h.unsqueeze(1), (layers, extra)

    def enter(self, symbols: Tensor) -> Feed:
        """Prepares reading symbols [N, I] step by step, each with another vector beside it."""
        xp, inputs, merge = self._xp, self._embedded(symbols), None
        if "decoder.feeding.merge.weight" in self._p:
            weight, bias = (self._p[f"decoder.feeding.merge.{name}"] for name in ("weight", "bias"))
            merge = weight[:, inputs.shape[2] :].t()
            inputs = F.linear(inputs, weight[:, : inputs.shape[2]], bias)
        parts = inputs.unbind(1)
        weights = [self._weights(layer) for layer in range(self._layers)]

        def feed(
            i: int, hidden: tuple[Layers, Any], rows: Tensor | None, beside: Tensor
        ) -> tuple[Tensor, tuple[Layers, Any]]:
            if merge is None:
                state = torch.cat([parts[i], beside], 1)
            else:
                state = torch.addmm(parts[i], beside, merge)
            after: Layers = []
            for own, before in zip(weights, hidden[0], strict=True):
                h, c = before if rows is None else (before[0][rows], before[1][rows])
                # A cell, not an LSTM: for a single step that is twice as slow on a CPU.
                after.append(torch.lstm_cell(state, (h, c), *own))
                state = xp.dropout(after[-1][0])
            return state, (after, None)

        return feed

    def _embedded(self, symbols: Tensor) -> Tensor:
        """Returns embeddings, whole ones dropped at random as well as single numbers."""
        xp = self._xp
        embedded = xp.read("decoder.embedding", self._p, symbols)
        if xp.config.symbol_dropout:
            embedded = F.dropout1d(embedded, xp.config.symbol_dropout, xp.training)
        return xp.dropout(embedded)

    def _weights(self, layer: int) -> tuple[Tensor, ...]:
        names = [f"decoder.cells.{layer}.{kind}" for kind in KINDS]
        if names[0] not in self._p:
            names = [f"decoder.lstm.{kind}_l{layer}" for kind in KINDS]
        return tuple(self._p[name] for name in names)


KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _lstm(
    inputs: Tensor, p: Mapping[str, Tensor], name: str, layers: int = 1, dropout: float = 0.0
) -> Tensor:
    """Returns the states [B, I, H] of an LSTM over inputs [B, I, ·], from zeros."""
    weights = [p[f"{name}.{kind}_l{layer}"] for layer in range(layers) for kind in KINDS]
    zeros = inputs.new_zeros(layers, len(inputs), weights[1].shape[1])
    states, _, _ = torch.lstm(
        inputs, (zeros, zeros), weights, True, layers, dropout, dropout > 0, False, True
    )
    return states
