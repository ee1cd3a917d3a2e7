"""Elementary functions over arrays, in place where that saves memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
"""Numbers of the precision that the weights have."""
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

unwarned = np.errstate(all="ignore")
"""For functions in which exp may overflow (a gate is shut) and log may be taken of nothing, and in
which finite matrices are multiplied: in rare processes NumPy warns of invalid values there that
neither the operands nor the product have."""


def logsumexp(x: Floats, axis: int = -1) -> Floats:
    """Returns log Σ exp x along an axis; −inf where every term is."""
    largest = x.max(axis, keepdims=True)
    shift = np.where(np.isneginf(largest), 0, largest)
    total = np.exp(x - shift).sum(axis)
    return np.asarray(np.log(total) + np.squeeze(shift, axis))


def log_softmax(x: Floats, axis: int = -1) -> Floats:
    """Returns x − log Σ exp x along an axis that has at least one finite entry."""
    x = x - x.max(axis, keepdims=True)
    x -= np.log(np.exp(x).sum(axis, keepdims=True))
    return x


def widened(log_probs: Floats, columns: int) -> Floats:
    """Returns log-probabilities [N, V] with as many columns as are wanted, −inf in new ones."""
    missing = columns - log_probs.shape[1]
    if not missing:
        return log_probs
    return np.pad(log_probs, ((0, 0), (0, missing)), constant_values=-np.inf)


def rows_of(table: Floats, rows: Ints) -> Floats:
    """Returns rows [N, ...] of a table [M, ...]; the table itself where these are all of it."""
    if len(rows) == len(table) and (len(rows) == 1 or (rows == np.arange(len(rows))).all()):
        return table
    return np.asarray(table.take(rows, 0))
