"""The operations in NumPy, for inference: no gradients, no torch.

LSTMs read every distinct prefix in a batch only once (``numpy_lstm.py``). A step computes p(· | j)
only at positions whose weight α_j is not negligible. Matrix products are few, large and contiguous.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardalign.data.vocabulary import END
from hardalign.systems.ops import Array, Ops, Output
from hardalign.systems.ops.numpy_lstm import Decoder, Encoder, EncoderStates, Shared, rows_of

Floats = NDArray[Any]
"""In the precision of the weights."""
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

CHUNK_FLOATS = 1 << 19
"""Numbers in the buffers of a chunk of cells: 2 MB, which fit in a core's cache."""


def logsumexp(x: Array, axis: int = -1) -> Array:
    """Return log Σ exp x along an axis; −inf if every term is."""
    largest = x.max(axis, keepdims=True)
    largest[largest == -np.inf] = 0
    total = np.exp(x - largest).sum(axis)
    return np.asarray(np.log(total) + largest.squeeze(axis))


def log_softmax(x: Array, axis: int = -1) -> Array:
    """Normalise along an axis that has at least one finite entry."""
    x = x - x.max(axis, keepdims=True)
    x -= np.log(np.exp(x).sum(axis, keepdims=True))
    return x


def pad_columns(log_probs: Array, columns: int) -> Array:
    """Pad log-probabilities [N, V] with columns of −inf."""
    missing = columns - log_probs.shape[1]
    if not missing:
        return log_probs
    return np.pad(log_probs, ((0, 0), (0, missing)), constant_values=-np.inf)


@dataclass(frozen=True)
class PrunedCells:
    """log p(y_i = v, a_i = j | y_<i, x) of the positions j that were computed."""

    joint: Array  # [R, V] of R cells, row by row
    row: Array  # [R] the hypothesis of each cell
    position: Array  # [R] its source position
    shape: tuple[int, int]  # N and J

    @cached_property
    def index(self) -> Array:
        """[N, J] the row of ``joint`` for each position; −1 if it was left out."""
        index = np.full(self.shape, -1)
        index[self.row, self.position] = np.arange(len(self.row))
        return index


class NumpyOps(Ops):
    """The engine without gradients."""

    never = -np.inf

    exp = staticmethod(np.exp)
    tanh = staticmethod(np.tanh)
    where = staticmethod(np.where)
    concatenate = staticmethod(np.concatenate)
    stack = staticmethod(np.stack)
    rows = staticmethod(rows_of)
    logaddexp = staticmethod(np.logaddexp)
    logsumexp = staticmethod(logsumexp)
    log_softmax = staticmethod(log_softmax)

    def arange(self, stop: Any, like: Array) -> Array:
        return np.arange(stop)

    def repeat(self, x: Array, times: int, axis: int = 0) -> Array:
        return np.repeat(x, times, axis)

    def zeros(self, like: Array, *shape: int) -> Array:
        return np.zeros(shape, like.dtype)

    def array(self, x: Array, like: Array) -> Array:
        return x

    def numpy(self, x: Array) -> Array:
        return x

    def take(self, x: Array, index: Array, axis: int) -> Array:
        shared = next((k for k in range(axis) if index.shape[k] > 1), axis)
        if not shared:
            return np.take_along_axis(x, index, axis)
        # The index is the same along the first axes: NumPy would expand it for each row.
        index = index[(0,) * shared]
        places = (
            index if k == axis else np.arange(x.shape[k]).reshape(-1, *[1] * (x.ndim - 1 - k))
            for k in range(shared, x.ndim)
        )
        return x[(slice(None),) * shared + tuple(places)]

    def masked(self, x: Array, mask: Array) -> Array:
        return x if mask.all() else np.where(mask, x, -np.inf)

    def lookup(self, table: Array, symbols: Array, first: int) -> Array:
        beyond = symbols - len(table)
        return np.where(beyond < 0, table[np.minimum(symbols, len(table) - 1)], beyond - first)

    def embed(self, table: Array, index: Array) -> Array:
        return table[index]

    def project(self, x: Array, matrix: Array, bias: Array | None = None) -> Array:
        if isinstance(x, Shared | EncoderStates):
            return x.project(matrix, bias)
        # One large product: NumPy would do one for each row of the first axis.
        y = x.reshape(-1, x.shape[-1]) @ matrix
        if bias is not None:
            y += bias
        return y.reshape(*x.shape[:-1], -1)

    def dense(self, x: Array) -> Array:
        return x.dense() if isinstance(x, Shared | EncoderStates) else x

    def encoder(self, p: Mapping[str, Array]) -> Encoder:
        return Encoder(p)

    def decoder(self, p: Mapping[str, Array]) -> Decoder:
        return Decoder(p)

    def log_joint(self, log_alpha: Array, output: Output, classes: Array, mask: Array) -> Array:
        """Compute possible cells in chunks, so that memory does not grow with |x|·|y|·|Σ|."""
        log_joint = log_alpha.copy()
        symbols = len(output.bias)
        row, step, position = np.nonzero(mask[:, :, None] & (log_alpha > -np.inf))
        size = max(64, CHUNK_FLOATS // sum(output.weight.shape))
        for start in range(0, len(row), size):
            n, i, j = (part[start : start + size] for part in (row, step, position))
            word = n if output.word is None else output.word[n]
            joint, logits = _cells(output, output.query[n, i], word, j)
            symbol = classes[n, i]
            chosen = logits[np.arange(len(n)), np.minimum(symbol, symbols - 1)]
            chosen[symbol >= symbols] = -np.inf  # out of vocabulary: can only be copied
            values = chosen - logsumexp(logits)
            if output.copied is not None:
                own = output.copied[word, j]
                copied, rest = _gates(joint, own, output)
                copied[own != symbol] = -np.inf
                values = np.logaddexp(values + rest, copied)
            log_joint[n, i, j] += values
        return log_joint

    def mixture(
        self, log_alpha: Array, output: Output, tolerance: float
    ) -> tuple[Array, PrunedCells]:
        """Compute only cells of more than an even share of the tolerance."""
        rows = len(log_alpha)
        word = np.arange(rows) if output.word is None else output.word
        least: Any = -math.inf
        if tolerance:  # shared among the word's own positions, not those of padding
            least = np.log(tolerance / output.lengths[word])[:, None]
        row, position = np.nonzero(log_alpha > least)
        owner = word.take(row)
        joint, logits = _cells(output, output.query[:, 0].take(row, 0), owner, position)
        cells = log_softmax(logits)
        if output.copied is not None:
            # Out-of-vocabulary letters of the words need columns of their own.
            columns = max(cells.shape[1], int(output.copied.max(initial=-1)) + 1)
            cells = pad_columns(cells, columns)
            own = output.copied[owner, position]
            copied, rest = _gates(joint, own, output)
            cells += rest[:, None]
            some = np.flatnonzero(own >= 0)
            place = some, own[some]
            cells[place] = np.logaddexp(cells[place], copied[some])
        pruned = PrunedCells(cells, row, position, log_alpha.shape)
        if len(row) == rows:  # one position each, of weight 1
            return cells, pruned
        first = np.searchsorted(row, np.arange(rows))
        weights = log_alpha[row, position]
        weights -= np.log(np.add.reduceat(np.exp(weights), first)).take(row)
        cells += weights[:, None]
        return _sum_rows(cells, row, first), pruned

    def origins(self, cells: PrunedCells, rows: Array | None, symbols: Array) -> Array:
        index = self.rows(cells.index, rows)
        columns = np.maximum(symbols - END, 0)[:, None]
        return np.where(index < 0, -np.inf, cells.joint[index, columns])

    def begin_cells(self, like: Array, columns: int) -> PrunedCells:
        # The previous symbol is always BEGIN, which maps to the first column.
        every = np.arange(len(like))
        return PrunedCells(np.zeros((len(like), 1), like.dtype), every, every * 0, like.shape[:2])


def _cells(output: Output, query: Array, word: Array, position: Array) -> tuple[Array, Array]:
    """Return tanh(q + k) [R, d_s], overwriting ``query`` [R, d_s], and logits [R, V]."""
    query += output.key[word, position]
    np.tanh(query, out=query)
    logits = query @ output.weight
    logits += output.bias
    return query, logits


def _gates(joint: Array, own: Array, output: Output) -> tuple[Array, Array]:
    """Return log g and log (1 − g) [R] of cells; g = 0 if there is nothing to copy."""
    assert output.gate is not None
    gate = np.where(own >= 0, joint @ output.gate[:, 0] + output.gate_bias, -np.inf)
    return -np.logaddexp(0, -gate), -np.logaddexp(0, gate)


def _sum_rows(cells: Array, row: Array, first: Array) -> Array:
    """Return the log-sum-exp [N, V] of the cells [R, V] of each row.

    ``row`` [R] is the sorted row of each cell, and ``first`` [N] the first cell of each row.
    """
    if len(first) == 1:
        return logsumexp(cells, 0)[None]
    largest = np.maximum.reduceat(cells, first)
    largest[largest == -np.inf] = 0  # symbols that no cell emits
    total = np.add.reduceat(np.exp(cells - largest.take(row, 0)), first)
    return np.log(total) + largest
