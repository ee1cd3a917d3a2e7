"""LSTMs that read many strings at once, each distinct beginning only once.

The state after a string's beginning depends on nothing else, so that *action* and *active* share
their first three steps. At every step the rows are the distinct beginnings; the matrix products,
which are nearly all of the work, shrink by a third or a half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hardalign.runtime.numbers import Floats, Ints

Hidden = tuple[tuple[Floats, Floats], ...]
"""For each layer of a decoder h and c, [N, H] each."""

GATE_SCALES = (-1.0, -1.0, -2.0, -1.0)
"""Of the gates i, f, g, o: σ(x) = 1 / (1 + exp(−x)) and tanh x = 2 σ(2x) − 1. Weights that are
multiplied by these when a model is loaded, which is exact, save two passes at every step."""


class LSTM:
    """One layer in one direction, with PyTorch's two bias vectors and order of gates."""

    def __init__(self, tensors: Mapping[str, Floats], name: str, suffix: str = "_l0") -> None:
        recurrent = tensors[f"{name}.weight_hh{suffix}"]
        self.size: int = recurrent.shape[1]
        scales = np.repeat(np.array(GATE_SCALES, recurrent.dtype), self.size)
        self.input: Floats = tensors[f"{name}.weight_ih{suffix}"] * scales[:, None]
        # [H, 4H] row by row, as the product of a single vector reads it fastest.
        self.recurrent = np.multiply(recurrent.T, scales, order="C")
        self._bias = tensors[f"{name}.bias_ih{suffix}"] + tensors[f"{name}.bias_hh{suffix}"]
        self._bias *= scales

    def project(self, inputs: Floats, columns: slice = slice(None), bias: bool = True) -> Floats:
        """Returns what inputs [..., columns] add to the scaled gates, [..., 4H]: of all at once.

        Args:
            inputs: All of an input vector, or a part of it.
            columns: Which part.
            bias: Add the biases, which one of the parts must.
        """
        rows = inputs.reshape(-1, inputs.shape[-1])  # one large product, not many small ones
        projected = (rows @ self.input[:, columns].T).reshape(*inputs.shape[:-1], -1)
        if bias:
            projected += self._bias
        return projected

    def zeros(self, rows: int) -> Floats:
        """Returns the state before anything was read: [rows, H]."""
        return np.zeros((rows, self.size), self._bias.dtype)

    def step(self, projected: Floats, h: Floats, c: Floats) -> tuple[Floats, Floats]:
        """Returns h and c [N, H] after one more input, projected to [N, 4H]."""
        gates = h @ self.recurrent
        gates += projected
        return cell(gates, c)


def cell(gates: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Returns the states h and c [N, H] that scaled gates [N, 4H] lead to; uses up the gates."""
    size = c.shape[1]
    np.exp(gates, out=gates)
    gates += 1
    np.reciprocal(gates, out=gates)
    i, f, g, o = (gates[:, k * size : (k + 1) * size] for k in range(4))
    g *= 2
    g -= 1
    i *= g
    c = f * c
    c += i
    h = np.tanh(c)
    h *= o
    return h, c


def begin_layers(layers: Sequence[LSTM], rows: int) -> Hidden:
    """Returns the states of all layers before anything was read."""
    return tuple((lstm.zeros(rows), lstm.zeros(rows)) for lstm in layers)


def step_layers(layers: Sequence[LSTM], projected: Floats, hidden: Hidden, rows: Ints) -> Hidden:
    """Returns the states of ``rows`` [N] after one more input, projected for the first layer."""
    after: list[tuple[Floats, Floats]] = []
    for lstm, (h, c) in zip(layers, hidden, strict=True):
        if after:
            projected = lstm.project(after[-1][0])
        after.append(lstm.step(projected, h[rows], c[rows]))
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


def read_both_ways(
    ahead: LSTM, back: LSTM, table: Floats, strings: Ints, mirrored: Ints
) -> tuple[tuple[Floats, Ints], tuple[Floats, Ints]]:
    """Reads strings from left to right with one LSTM, and mirrored with another beside it.

    Args:
        ahead: Reads the strings as they are.
        back: Reads them mirrored; of the same size.
        table: [2V, 4H] the alphabet's symbols, projected for the one and then for the other.
        strings: [B, L]; what stands after a string's end changes nothing before it.
        mirrored: [B, L]

    Returns:
        For each way the states [M, H] after the distinct beginnings of what was read, and which of
        them each symbol [B, L] has.
    """
    alphabet, count = len(table) // 2, len(strings)
    symbols = np.concatenate([strings, mirrored + alphabet])  # [2B, L]
    h = c = np.concatenate([ahead.zeros(1), back.zeros(1)])
    row = np.repeat([0, 1], count)
    states, rows, splits = [], [], []
    for column in symbols.T:
        if len(h) == len(column):  # all are distinct already, and stay so
            parents, ids, row = row, column, np.arange(len(column))
        else:
            parents, ids, row = distinct(row, column, len(table))
        split = np.count_nonzero(ids < alphabet)  # rows of the one way come before the other's
        gates, before = table[ids], h[parents]
        gates[:split] += before[:split] @ ahead.recurrent
        gates[split:] += before[split:] @ back.recurrent
        h, c = cell(gates, c[parents])
        states.append((h[:split], h[split:]))
        rows.append(row)
        splits.append(split)
    ways = []
    for way, own in enumerate(zip(*states, strict=True)):
        first = np.cumsum([0, *map(len, own[:-1])]) - way * np.array(splits)
        ways.append((np.concatenate(own), (np.stack(rows, 1) + first)[way * count :][:count]))
    return ways[0], ways[1]
