"""What a heat map shows; and drawn for the terminal and for notebooks, without other libraries."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SHADES = " ░▒▓█"
_CELL = "padding:2px 6px;text-align:center"
_HUE = "8,81,156"  # the dark end of the colours of the pictures


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
    """Returns a symbol as it can stand alone: blanks made visible, combining marks on a bearer."""
    if symbol.isspace():
        return "␣"
    return f"◌{symbol}" if unicodedata.category(symbol[0]).startswith("M") else symbol


def draw_text(panel: Panel) -> str:
    """Returns a heat map in characters: the darker a cell, the larger its weight."""
    from rich.cells import cell_len, set_cell_size

    rows, columns = [label(text) for text in panel.rows], [label(text) for text in panel.columns]
    widths = [max(2, cell_len(text)) for text in columns]
    margin = max(cell_len(text) for text in rows)
    lines = [" " * margin + " " + " ".join(map(set_cell_size, columns, widths))]
    for text, row in zip(rows, panel.weights, strict=True):
        shades = (SHADES[round(min(weight, 1) * (len(SHADES) - 1))] for weight in row)
        cells = (shade * width for shade, width in zip(shades, widths, strict=True))
        lines.append(set_cell_size(text, margin) + " " + " ".join(cells))
    return "\n".join(line.rstrip() for line in lines)


def draw_html(panel: Panel) -> str:
    """Returns a heat map as an HTML table; pointing at a cell shows its weight."""
    lines = ["<tr><th></th>" + "".join(map(_head, panel.columns)) + "</tr>"]
    for symbol, row in zip(panel.rows, panel.weights, strict=True):
        cells = (
            f'<td title="{weight:.3f}" style="background:rgba({_HUE},{weight:.3f})"></td>'
            for weight in row
        )
        lines.append(f"<tr>{_head(symbol)}{''.join(cells)}</tr>")
    body = "\n".join(lines)
    return f"<table>\n<caption>{escape(panel.title)}</caption>\n{body}\n</table>"


def _head(symbol: str) -> str:
    return f'<th style="{_CELL}"><bdi dir="auto">{escape(label(symbol))}</bdi></th>'
