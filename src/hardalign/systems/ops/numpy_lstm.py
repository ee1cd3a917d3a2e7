"""LSTMs in NumPy that read the strings of a batch together, each distinct prefix only once.

*action* and *active* share their first three steps. Each step has one row per distinct prefix, so
the matrix products, which are nearly all of the work, shrink by a third or a half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hardalign.data.vocabulary import BEGIN, END, UNKNOWN
from hardalign.systems.ops import Array, Feed

GATE_ORDER = (0, 1, 3, 2)
"""Reorders PyTorch's gates i, f, g, o to i, f, o, g."""
GATE_SCALES = (0.5, 0.5, 0.5, 1.0)
"""σ(x) = (tanh(x / 2) + 1) / 2: halving the weights on loading, which is exact, leaves one tanh for
all gates."""


@dataclass(frozen=True)
class Shared:
    """Vectors [..., D], stored without duplicates."""

    values: Array  # [M, D]
    row: Array  # [...] the row of each in ``values``

    def project(self, matrix: Array, bias: Array | None) -> Array:
        values = self.values @ matrix
        if bias is not None:
            values += bias
        return values[self.row]

    def dense(self) -> Array:
        return self.values[self.row]


@dataclass(frozen=True)
class EncoderStates:
    """The encoder's states; words share those of common prefixes and suffixes."""

    ahead: Shared  # [B, J, H] left to right; arbitrary at padding
    back: Shared  # [B, J, H] right to left

    def project(self, matrix: Array, bias: Array | None) -> Array:
        size = self.ahead.values.shape[1]
        projected = self.ahead.project(matrix[:size], bias)
        projected += self.back.project(matrix[size:], None)
        return projected

    def dense(self) -> Array:
        return np.concatenate([self.ahead.dense(), self.back.dense()], -1)


class LayerState(NamedTuple):
    """The state of a layer after M strings."""

    h: Array  # [M, H]
    c: Array  # [M, H]
    product: Array | None = None  # [M, 4H] what h adds to the next gates, if already computed


class LSTM:
    """One layer in one direction, with PyTorch's two bias vectors and order of gates."""

    def __init__(self, tensors: Mapping[str, Array], name: str, suffix: str = "_l0") -> None:
        recurrent = tensors[f"{name}.weight_hh{suffix}"]
        self.size: int = recurrent.shape[1]
        scales = np.repeat(np.array(GATE_SCALES, recurrent.dtype), self.size)
        gates = np.arange(4 * self.size).reshape(4, -1)[list(GATE_ORDER)].reshape(-1)
        # Both are [·, 4H] in C order, which is fastest for products with few vectors.
        self.input = np.multiply(tensors[f"{name}.weight_ih{suffix}"][gates].T, scales, order="C")
        self.recurrent = np.multiply(recurrent[gates].T, scales, order="C")
        bias = tensors[f"{name}.bias_ih{suffix}"] + tensors[f"{name}.bias_hh{suffix}"]
        self.bias = bias[gates] * scales

    def project(self, inputs: Array) -> Array:
        """Return what an input [..., ·], or the first part of it, adds to the gates [..., 4H]."""
        rows = inputs.reshape(-1, inputs.shape[-1])  # one large product, not many small ones
        projected = (rows @ self.input[: inputs.shape[-1]]).reshape(*inputs.shape[:-1], -1)
        projected += self.bias
        return projected

    def begin(self, rows: int) -> LayerState:
        zeros = np.zeros((rows, self.size), self.bias.dtype)
        return LayerState(zeros, zeros)

    def step(self, projected: Array, before: LayerState, rows: Array | None = None) -> LayerState:
        """Read one input from rows [N] of the state before, overwriting ``projected`` [N, 4H]."""
        h, c, product = before
        if rows is not None:
            c = rows_of(c, rows)
            if product is None and len(h) < len(rows):
                product = h @ self.recurrent
            h, product = (h[rows], None) if product is None else (h, rows_of(product, rows))
        projected += h @ self.recurrent if product is None else product
        return LayerState(*cell(projected, c))

    def read(self, inputs: Array) -> Array:
        """Return the states [B, J, H] of vectors [B, J, ·], left to right."""
        projected = self.project(inputs)
        states = np.empty((*inputs.shape[:2], self.size), projected.dtype)
        state = self.begin(len(inputs))
        for j in range(inputs.shape[1]):
            state = self.step(projected[:, j], state)
            states[:, j] = state.h
        return states


def cell(gates: Array, c: Array) -> tuple[Array, Array]:
    """Return h and c [N, H] from scaled gates [N, 4H], which are overwritten."""
    size = c.shape[1]
    np.tanh(gates, out=gates)
    sigmoids = gates[:, : 3 * size]
    sigmoids += 1
    sigmoids *= 0.5
    c = sigmoids[:, size : 2 * size] * c
    candidate = gates[:, 3 * size :]
    candidate *= sigmoids[:, :size]
    c += candidate
    h = np.tanh(c)
    h *= sigmoids[:, 2 * size :]
    return h, c


def rows_of(x: Array, index: Array | None) -> Array:
    """Return rows [N, ...] of an array [M, ...]: the array itself if these are all, in order."""
    if index is None:
        return x
    if len(index) == len(x) and (len(index) == 1 or (index == np.arange(len(index))).all()):
        return x
    return x.take(index, 0)


def distinct(parents: Array, symbols: Array, alphabet: int) -> tuple[Array, Array, Array]:
    """Return parents [M] and symbols [M] of the distinct pairs, and the pair of each row [N]."""
    if len(parents) == 1:
        return parents, symbols, np.zeros(1, np.intp)
    keys, row = np.unique(parents * alphabet + symbols, return_inverse=True)
    return keys // alphabet, keys % alphabet, row


class Hidden(NamedTuple):
    """The state of a decoder after M distinct prefixes, shared by N hypotheses."""

    layers: tuple[LayerState, ...]
    row: Array  # [N] the prefix of each hypothesis
    extra: Array | None = None  # [M, 4H] what a constant extra vector adds to the gates


class Decoder:
    """An LSTM over target symbols, or cells in systems with input feeding."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        names = [(f"decoder.cells.{k}", "") for k in range(100)]
        names += [("decoder.lstm", f"_l{k}") for k in range(100)]
        self._layers = [
            LSTM(tensors, name, suffix)
            for name, suffix in names
            if f"{name}.weight_hh{suffix}" in tensors
        ]
        embedding = tensors["decoder.embedding.weight"]
        width = embedding.shape[1]
        self._extra: list[Array] = []  # matrices applied to the extra vector in turn
        if "decoder.feeding.merge.weight" in tensors:
            merge = np.ascontiguousarray(tensors["decoder.feeding.merge.weight"].T)
            embedding = embedding @ merge[:width] + tensors["decoder.feeding.merge.bias"]
            self._extra = [merge[width:], self._layers[0].input]
        elif len(self._layers[0].input) > width:
            self._extra = [self._layers[0].input[width:]]
        self._table = self._layers[0].project(embedding)  # [V, 4H]
        # BEGIN is the same for all targets, so it is read only once.
        zero = np.zeros(1, np.intp)
        self._empty = Hidden(tuple(layer.begin(1) for layer in self._layers), zero)
        begun = self._advance(self._table[[BEGIN]], self._empty.layers, zero)
        self._begun = tuple(
            LayerState(h, c, h @ layer.recurrent)
            for layer, (h, c, _) in zip(self._layers, begun, strict=True)
        )

    def begin(self, rows: int, extra: Array | None = None) -> Hidden:
        if extra is None:
            return self._empty._replace(row=np.zeros(rows, np.intp))
        values, row = np.unique(extra, axis=0, return_inverse=True)
        layers = tuple(layer.begin(len(values)) for layer in self._layers)
        return Hidden(layers, row.reshape(-1), self._extra_gates(values))

    def step(
        self, hidden: Hidden, rows: Array | None, symbols: Array, extra: Array | None = None
    ) -> tuple[Shared, Hidden]:
        row = rows_of(hidden.row, rows)
        symbols = np.where(symbols < len(self._table), symbols, UNKNOWN)
        same = hidden.extra
        if extra is not None:  # no two hypotheses share it
            gates = self._extra_gates(extra)
            gates += self._table.take(symbols, 0)
            after = Hidden(self._advance(gates, hidden.layers, row), np.arange(len(symbols)))
        elif hidden.layers is self._empty.layers:
            after = Hidden(self._begun, row)
        else:
            parents, ids, row = distinct(row, symbols, len(self._table))
            gates = self._table.take(ids, 0)
            if same is not None:
                same = same[parents]
                gates += same
            after = Hidden(self._advance(gates, hidden.layers, parents), row, same)
        return Shared(after.layers[-1].h, after.row[:, None]), after

    def follow(self, previous: Array, extra: Array | None) -> Shared:
        changes = extra is not None and extra.ndim == 3
        hidden = self.begin(len(previous), None if changes else extra)
        values, rows, count = [], [], 0
        for i, symbols in enumerate(previous.T):
            now = extra[:, i] if extra is not None and changes else None
            shared, hidden = self.step(hidden, None, symbols, now)
            values.append(shared.values)
            rows.append(shared.row + count)
            count += len(shared.values)
        return Shared(np.concatenate(values), np.concatenate(rows, 1))

    def feed(self, previous: Array) -> Feed:
        def step(i: int, hidden: Hidden, extra: Array) -> tuple[Array, Hidden]:
            shared, after = self.step(hidden, None, previous[:, i], extra)
            return shared.dense(), after

        return step

    def _extra_gates(self, vectors: Array) -> Array:
        """Return what extra vectors [N, E] add to the gates, [N, 4H]."""
        for matrix in self._extra:
            vectors = vectors @ matrix
        return vectors

    def _advance(
        self, projected: Array, layers: Sequence[LayerState], rows: Array | None
    ) -> tuple[LayerState, ...]:
        """Read one more input, projected for the first layer, continuing ``rows`` [N]."""
        after: list[LayerState] = []
        for layer, before in zip(self._layers, layers, strict=True):
            if after:
                projected = layer.project(after[-1].h)
            after.append(layer.step(projected, before, rows))
        return tuple(after)


class Encoder:
    """A bidirectional LSTM, both directions side by side; padding is only read after a word."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        layers = [k for k in range(100) if f"encoder.forwards.{k}.weight_hh_l0" in tensors]
        (ahead, back), *self._upper = (
            (LSTM(tensors, f"encoder.forwards.{k}"), LSTM(tensors, f"encoder.backwards.{k}"))
            for k in layers
        )
        embedding = tensors["encoder.embedding.weight"]
        self._alphabet = len(embedding)
        self._recurrent = np.stack([ahead.recurrent, back.recurrent])  # [2, H, 4H]
        self._table = np.concatenate([ahead.project(embedding), back.project(embedding)])
        # BEGIN and END are the same for all words, so they are read only once.
        gates = self._table[[BEGIN, self._alphabet + END]]
        self._h, self._c = cell(gates, np.zeros_like(gates[:, : ahead.size]))
        self._product = self._products(self._h, 1)

    def __call__(self, symbols: Array, lengths: Array) -> EncoderStates:
        symbols = np.where(symbols < self._alphabet, symbols, UNKNOWN)
        position = np.arange(symbols.shape[1])
        mirrored = lengths[:, None] - 1 - position  # [B, J]
        mirrored = np.where(mirrored >= 0, mirrored, position)
        word = np.arange(len(symbols))[:, None]
        ahead, back = self._read(symbols, symbols[word, mirrored])
        states = EncoderStates(ahead, Shared(back.values, back.row[word, mirrored]))
        for left_to_right, right_to_left in self._upper:
            # States above the first layer depend on the whole word, so none are shared.
            below = states.dense()
            row = np.arange(symbols.size).reshape(symbols.shape)
            ahead = Shared(left_to_right.read(below).reshape(symbols.size, -1), row)
            back_states = right_to_left.read(below[word, mirrored]).reshape(symbols.size, -1)
            states = EncoderStates(ahead, Shared(back_states, row[word, mirrored]))
        return states

    def _read(self, strings: Array, mirrored: Array) -> tuple[Shared, Shared]:
        """Read strings [B, L] and their mirror images."""
        columns = np.concatenate([strings, mirrored + self._alphabet]).T  # [L, 2B]
        count, h, c, split = len(strings), self._h, self._c, 1
        row = np.repeat([0, 1], count)  # into h, where all forward rows come first
        ahead, ahead_rows, ahead_count = [h[:1]], [row[:count]], 1
        back, back_rows, back_count = [h[1:]], [row[count:] - 1], 1
        for column in columns[1:]:
            product = self._product if h is self._h else self._products(h, split)
            if len(h) < len(row):
                parents, ids, row = distinct(row, column, len(self._table))
                split = int(np.searchsorted(ids >= self._alphabet, True))
            else:  # no two strings share a prefix any more
                parents, ids, row, split = row, column, np.arange(len(row)), count
            gates = self._table.take(ids, 0)
            gates += product.take(parents, 0)
            h, c = cell(gates, c.take(parents, 0))
            ahead.append(h[:split])
            ahead_rows.append(row[:count] + ahead_count)
            ahead_count += split
            back.append(h[split:])
            back_rows.append(row[count:] - split + back_count)
            back_count += len(h) - split
        return (
            Shared(np.concatenate(ahead), np.stack(ahead_rows, 1)),
            Shared(np.concatenate(back), np.stack(back_rows, 1)),
        )

    def _products(self, h: Array, split: int) -> Array:
        """Return what states add to the next gates: forward up to ``split``, then backward."""
        if 2 * split == len(h):
            return (h.reshape(2, split, -1) @ self._recurrent).reshape(len(h), -1)
        ahead, back = self._recurrent
        return np.concatenate([h[:split] @ ahead, h[split:] @ back])
