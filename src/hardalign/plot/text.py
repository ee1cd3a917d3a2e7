"""Heat maps for the terminal."""

from __future__ import annotations

from rich.cells import cell_len

from hardalign.plot.panel import Panel, label

SHADES = " ░▒▓█"


def draw_text(panel: Panel) -> str:
    """A heat map in characters: the darker a cell, the larger its weight."""
    rows, columns = [label(text) for text in panel.rows], [label(text) for text in panel.columns]
    widths = [max(2, cell_len(text)) for text in columns]
    margin = max(cell_len(text) for text in rows)
    lines = [" " * margin + " " + " ".join(map(_pad, columns, widths))]
    for text, row in zip(rows, panel.weights, strict=True):
        cells = (_shade(weight) * width for weight, width in zip(row, widths, strict=True))
        lines.append(_pad(text, margin) + " " + " ".join(cells))
    return "\n".join(line.rstrip() for line in lines)


def _shade(weight: float) -> str:
    return SHADES[min(len(SHADES) - 1, round(weight * (len(SHADES) - 1)))]


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
