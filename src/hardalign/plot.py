"""Alignments as pictures."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len

from hardalign.alignment import Alignment

SHADES = " ░▒▓█"


def draw_text(alignment: Alignment) -> str:
    """A heat map for the terminal: a row per target symbol, a column per source symbol.

    The darker a cell, the more probably its row's symbol came from its column's. ``⊢`` and ``⊣``
    are begin and end.
    """
    columns = [label(text) for text in ("⊢", *alignment.tags, *alignment.source, "⊣")]
    rows = [label(text) for text in (*alignment.target, "⊣")]
    widths = [max(2, cell_len(text)) for text in columns]
    margin = max(cell_len(text) for text in rows)
    lines = [" " * margin + " " + " ".join(map(_pad, columns, widths))]
    for text, weights in zip(rows, alignment.weights, strict=True):
        cells = (_shade(weight) * width for weight, width in zip(weights, widths, strict=True))
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
