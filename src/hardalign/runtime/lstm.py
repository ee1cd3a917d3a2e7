"""LSTMs that read many strings at once, each distinct beginning only once.

The state after a string's beginning depends on nothing else, so that *action* and *active* share
their first three steps. At every step the rows are the distinct beginnings; the matrix products,
which are nearly all of the work, shrink by a third or a half.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hardalign.runtime.numbers import Floats, Ints, sigmoid_, tanh_


class LSTM:
    """One layer in one direction, with PyTorch's two bias vectors and order of gates."""

    def __init__(self, tensors: Mapping[str, Floats], name: str, suffix: str = "_l0") -> None:
        self._input = tensors[f"{name}.weight_ih{suffix}"]
        self._recurrent = tensors[f"{name}.weight_hh{suffix}"].T  # [H, 4H], a view
        self._bias = tensors[f"{name}.bias_ih{suffix}"] + tensors[f"{name}.bias_hh{suffix}"]
        self.size = self._recurrent.shape[0]

    def project(self, inputs: Floats, columns: slice = slice(None), bias: bool = True) -> Floats:
        """Returns what inputs [..., columns] add to the gates, [..., 4H]: of all at once.

        Args:
            inputs: All of an input vector, or a part of it.
            columns: Which part.
            bias: Add the biases, which one of the parts must.
        """
        rows = inputs.reshape(-1, inputs.shape[-1])  # one large product, not many small ones
        projected = (rows @ self._input[:, columns].T).reshape(*inputs.shape[:-1], -1)
        if bias:
            projected += self._bias
        return projected

    def source_weight(self, columns: slice) -> Floats:
        """Returns the part of the input map [4H, columns] that reads encoder states."""
        return self._input[:, columns]

    def zeros(self, rows: int) -> Floats:
        """Returns the state before anything was read: [rows, H]."""
        return np.zeros((rows, self.size), self._bias.dtype)

    def step(self, projected: Floats, h: Floats, c: Floats) -> tuple[Floats, Floats]:
        """Returns h and c [N, H] after one more input, projected to [N, 4H]."""
        size = self.size
        gates = h @ self._recurrent
        gates += projected
        gates[:, 2 * size : 3 * size] *= 2  # tanh g = 2 σ(2g) − 1: one pass over all four gates
        sigmoid_(gates)
        i, f, g, o = (gates[:, k * size : (k + 1) * size] for k in range(4))
        g *= 2
        g -= 1
        c = f * c
        i *= g
        c += i
        h = tanh_(c.copy())
        h *= o
        return h, c


def distinct(parents: Ints, symbols: Ints, alphabet: int) -> tuple[Ints, Ints, Ints]:
    """Finds the distinct pairs of a parent and a symbol.

    Returns:
        The parents [M] and symbols [M] of the distinct pairs, and which of them each row [N] is.
    """
    if len(symbols) == 1:
        return parents, symbols, np.zeros(1, np.intp)
    keys, row = np.unique(parents * alphabet + symbols, return_inverse=True)
    return keys // alphabet, keys % alphabet, row


def read_strings(lstm: LSTM, table: Floats, symbols: Ints) -> tuple[Floats, Ints]:
    """Reads strings from left to right.

    Args:
        lstm: Reads them.
        table: [V, 4H] the alphabet's symbols, projected.
        symbols: [B, L] the strings; what stands after a string's end changes nothing before it.

    Returns:
        The states [M, H] after the distinct beginnings of the strings, and which of them each
        symbol [B, L] has.
    """
    h = c = lstm.zeros(1)
    row = np.zeros(len(symbols), np.intp)
    states, rows, count = [], [], 0
    for column in symbols.T:
        parents, ids, row = distinct(row, column, len(table))
        h, c = lstm.step(table[ids], h[parents], c[parents])
        states.append(h)
        rows.append(row + count)
        count += len(h)
    return np.concatenate(states), np.stack(rows, 1)
