"""What a heat map shows, however it is drawn."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Panel(NamedTuple):
    """One heat map: the weights of target symbols (rows) over source symbols (columns)."""

    title: str
    rows: Sequence[str]
    """The target symbols."""
    columns: Sequence[str]
    """The source symbols."""
    weights: NDArray[np.float64]
    """[rows, columns] from 0 to 1."""


def label(symbol: str) -> str:
    """A symbol as it can stand alone: blanks made visible, combining marks given a bearer."""
    if symbol.isspace():
        return "␣"
    return f"◌{symbol}" if unicodedata.category(symbol[0]).startswith("M") else symbol
