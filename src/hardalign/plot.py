"""Alignments as pictures: weights of rows (target symbols) over columns (source symbols)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

SHADES = " ░▒▓█"


def draw_text(rows: Sequence[str], columns: Sequence[str], weights: NDArray[np.float64]) -> str:
    """A heat map for the terminal: the darker a cell, the larger its weight.

    Args:
        rows: Labels of the target symbols.
        columns: Labels of the source symbols.
        weights: [rows, columns] from 0 to 1.
    """
    rows, columns = [label(text) for text in rows], [label(text) for text in columns]
    widths = [max(2, cell_len(text)) for text in columns]
    margin = max(cell_len(text) for text in rows)
    lines = [" " * margin + " " + " ".join(map(_pad, columns, widths))]
    for text, row in zip(rows, weights, strict=True):
        cells = (_shade(weight) * width for weight, width in zip(row, widths, strict=True))
        lines.append(_pad(text, margin) + " " + " ".join(cells))
    return "\n".join(line.rstrip() for line in lines)


def label(symbol: str) -> str:
    """A symbol as it can stand alone: blanks made visible, combining marks given a bearer."""
    if symbol.isspace():
        return "␣"
    return f"◌{symbol}" if unicodedata.combining(symbol[0]) else symbol


def _shade(weight: float) -> str:
    return SHADES[min(len(SHADES) - 1, round(weight * (len(SHADES) - 1)))]


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
