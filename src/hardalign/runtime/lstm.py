"""LSTMs that read many strings at once, each distinct beginning only once.

The state after a string's beginning depends on nothing else, so that *action* and *active* share
their first three steps. At every step the rows are the distinct beginnings; the matrix products,
which are nearly all of the work, shrink by a third or a half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hardalign.runtime.numbers import Floats, Ints, rows_of


class Carried(NamedTuple):
    """What a layer carries from step to step, of M strings."""

    h: Floats
    """[M, H]"""
    c: Floats
    """[M, H]"""
    product: Floats | None = None
    """[M, 4H] what h adds to the next step's gates, where that is known already."""


Hidden = tuple[Carried, ...]
"""What each layer of a decoder carries."""

GATE_ORDER = (0, 1, 3, 2)
"""PyTorch's gates i, f, g, o in the order that they have here: i, f, o, g."""
GATE_SCALES = (0.5, 0.5, 0.5, 1.0)
"""Of the gates in our order: σ(x) = (tanh(x / 2) + 1) / 2, so that weights that are halved when a
model is loaded, which is exact, leave one tanh for all gates."""


class LSTM:
    """One layer in one direction, with PyTorch's two bias vectors and order of gates."""

    def __init__(self, tensors: Mapping[str, Floats], name: str, suffix: str = "_l0") -> None:
        recurrent = tensors[f"{name}.weight_hh{suffix}"]
        self.size: int = recurrent.shape[1]
        scales = np.repeat(np.array(GATE_SCALES, recurrent.dtype), self.size)
        gates = np.arange(4 * self.size).reshape(4, -1)[list(GATE_ORDER)].reshape(-1)
        # Both are [·, 4H] row by row, as products of few vectors read them fastest.
        self.input = np.multiply(tensors[f"{name}.weight_ih{suffix}"][gates].T, scales, order="C")
        self.recurrent = np.multiply(recurrent[gates].T, scales, order="C")
        bias = tensors[f"{name}.bias_ih{suffix}"] + tensors[f"{name}.bias_hh{suffix}"]
        self._bias = bias[gates] * scales

    def project(self, inputs: Floats, columns: slice = slice(None), bias: bool = True) -> Floats:
        """Returns what inputs [..., columns] add to the scaled gates, [..., 4H]: of all at once.

        Args:
            inputs: All of an input vector, or a part of it.
            columns: Which part.
            bias: Add the biases, which one of the parts must.
        """
        rows = inputs.reshape(-1, inputs.shape[-1])  # one large product, not many small ones
        projected: Floats = (rows @ self.input[columns]).reshape(*inputs.shape[:-1], -1)
        if bias:
            projected += self._bias
        return projected

    def begin(self, rows: int) -> Carried:
        """Returns what is carried before anything was read."""
        zeros = np.zeros((rows, self.size), self._bias.dtype)
        return Carried(zeros, zeros)

    def step(self, projected: Floats, before: Carried, rows: Ints | None = None) -> Carried:
        """Reads one more input.

        Args:
            projected: [N, 4H] of the input; used up.
            before: Of M strings.
            rows: [N] those of them that go on, maybe in several ways; None: all do.
        """
        h, c, product = before
        if rows is not None:
            c = rows_of(c, rows)
            if product is None and len(h) < len(rows):
                product = h @ self.recurrent
            h, product = (h[rows], None) if product is None else (h, rows_of(product, rows))
        projected += h @ self.recurrent if product is None else product
        return Carried(*cell(projected, c))


def cell(gates: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Returns the states h and c [N, H] that scaled gates [N, 4H] lead to; uses up the gates."""
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


def begin_layers(layers: Sequence[LSTM], rows: int) -> Hidden:
    """Returns what all layers carry before anything was read."""
    return tuple(lstm.begin(rows) for lstm in layers)


def step_layers(layers: Sequence[LSTM], projected: Floats, hidden: Hidden, rows: Ints) -> Hidden:
    """Reads one more input, projected for the first layer, on from ``rows`` [N]."""
    after: list[Carried] = []
    for lstm, before in zip(layers, hidden, strict=True):
        if after:
            projected = lstm.project(after[-1].h)
        after.append(lstm.step(projected, before, rows))
    return tuple(after)


def distinct(parents: Ints, symbols: Ints, alphabet: int) -> tuple[Ints, Ints, Ints]:
    """Finds the distinct pairs of a parent and a symbol.

    Returns:
        The parents [M] and symbols [M] of the distinct pairs, and which of them each row [N] is.
    """
    if len(symbols) == 1:
        return parents, symbols, np.zeros(1, np.intp)
    keys, row = np.unique(parents * alphabet + symbols, return_inverse=True)
    return keys // alphabet, keys % alphabet, row


class BothWaysReader:
    """Two LSTMs of the same size, one for strings as they are and one for the same mirrored."""

    def __init__(self, ahead: LSTM, back: LSTM, embedding: Floats, first: int, last: int) -> None:
        """Makes a reader.

        Args:
            ahead: Reads strings from left to right.
            back: Reads them from right to left.
            embedding: [V, ·] the alphabet.
            first: The symbol with which all strings begin.
            last: The symbol with which all strings end.
        """
        self._alphabet, self._size = len(embedding), ahead.size
        self._recurrent = np.stack([ahead.recurrent, back.recurrent])  # [2, H, 4H]
        self._table = np.concatenate([ahead.project(embedding), back.project(embedding)])
        # What all strings have in common is read here, once for all of them.
        gates = self._table[[first, self._alphabet + last]]
        self._h, self._c = cell(gates, np.zeros_like(gates[:, : ahead.size]))
        self._product = self._products(self._h, 1)

    def read(
        self, strings: Ints, mirrored: Ints
    ) -> tuple[tuple[Floats, Ints], tuple[Floats, Ints]]:
        """Reads strings from both ends.

        Args:
            strings: [B, L]; what stands after a string's end changes nothing before it.
            mirrored: [B, L]

        Returns:
            For each way the states [M, H] after the distinct beginnings of what was read, and which
            of them each symbol [B, L] has.
        """
        columns = np.concatenate([strings, mirrored + self._alphabet]).T[1:]  # [L - 1, 2B]
        count, shared = len(strings), 0
        h, c, product, split = self._h, self._c, self._product, 1
        row = np.repeat([0, 1], count)
        states, rows = ([h[:1]], [h[1:]]), ([row[:count]], [row[count:] - 1])
        while shared < len(columns) and len(h) < len(row):
            parents, ids, row = distinct(row, columns[shared], len(self._table))
            gates = self._table.take(ids, 0)
            gates += product.take(parents, 0)
            h, c = cell(gates, c.take(parents, 0))
            split = int((ids < self._alphabet).sum())  # one way comes before the other
            product = self._products(h, split)
            rows[0].append(row[:count] + sum(map(len, states[0])))
            rows[1].append(row[count:] + sum(map(len, states[1])) - split)
            states[0].append(h[:split])
            states[1].append(h[split:])
            shared += 1
        apart = self._read_apart(columns[shared:], rows_of(product, row), rows_of(c, row))
        for way, own in enumerate(states):
            first = sum(map(len, own)) + np.arange(len(columns) - shared) * count
            rows[way].extend(first[:, None] + np.arange(count))
            own.extend(apart[:, way])
        ways = [(np.concatenate(states[way]), np.stack(rows[way], 1)) for way in (0, 1)]
        return ways[0], ways[1]

    def _read_apart(self, columns: Ints, product: Floats, c: Floats) -> Floats:
        """Reads on in strings that are all distinct already, and stay so.

        Args:
            columns: [steps, 2B] numbers in the table: first those ahead, then those back.
            product: [2B, 4H] what the states before add to the gates.
            c: [2B, H]

        Returns:
            States [steps, 2, B, H].
        """
        states = np.empty((len(columns), 2, len(c) // 2, self._size), c.dtype)
        for step, ids in enumerate(columns):
            if step:
                product = (states[step - 1] @ self._recurrent).reshape(product.shape)
            gates = self._table.take(ids, 0)
            gates += product
            h, c = cell(gates, c)
            states[step] = h.reshape(states[step].shape)
        return states

    def _products(self, h: Floats, split: int) -> Floats:
        """Returns what states add to the next gates: before ``split`` ahead, from there on back."""
        ahead, back = self._recurrent
        return np.concatenate([h[:split] @ ahead, h[split:] @ back])
