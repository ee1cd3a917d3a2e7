"""Heat maps of alignments, training curves and tables."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardalign.data.text import printable
from hardalign.errors import HardalignError, MissingPackageError
from hardalign.files import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

SHADES = " ░▒▓█"
BARS = "▁▂▃▄▅▆▇█"
KINDS = {
    ".svg": {"Date": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Producer": None},
}
"""Picture formats, with the metadata to leave out for reproducible files."""
FONTS = (
    *("DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", "Noto Sans CJK KR", "Noto Sans CJK SC"),
    *("Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai"),
    *("Noto Sans Hebrew", "Noto Sans Georgian", "Noto Sans Armenian", "Noto Sans Ethiopic"),
    *("Arial Unicode MS", "Apple SD Gothic Neo", "Malgun Gothic", "Nirmala UI", "Yu Gothic"),
)
"""Font families, in order of preference, that cover most scripts."""
CELL, MAX_SIDE = 0.3, 30.0
"""Maximum side, in inches, of a cell and of a heat map, whose cells shrink to fit."""
MIN_WIDTH = 2.0
"""Inches reserved for a title."""
MAX_VECTOR_CELLS = 10_000
"""Heat maps with more cells are rasterized: viewers choke on so many paths."""
CURVES = {"loss": "loss", "dev_acc": "accuracy on dev (%)", "learning_rate": "learning rate"}
"""Fields of ``metrics.jsonl`` that are drawn, with their titles."""
MISSING = "–"
"""Placeholder for a missing figure."""


class Panel(NamedTuple):
    """A heat map of target symbols (rows) by source symbols (columns)."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    weights: NDArray[np.float64]
    """[rows, columns], from 0 to 1."""


def label(symbol: str) -> str:
    """Return a symbol as an axis label: blanks visible, combining marks on a dotted circle."""
    if symbol.isspace():
        return "␣"
    combining = unicodedata.category(symbol[0]).startswith("M")
    return printable(f"◌{symbol}" if combining else symbol)


def draw_text(panel: Panel) -> str:
    """Return a heat map in block characters."""
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
    """Return a heat map as an HTML table, with the weights as tooltips."""

    def head(symbol: str) -> str:
        style = "padding:2px 6px;text-align:center"
        return f'<th style="{style}"><bdi dir="auto">{escape(label(symbol))}</bdi></th>'

    lines = ["<tr><th></th>" + "".join(map(head, panel.columns)) + "</tr>"]
    for symbol, row in zip(panel.rows, panel.weights, strict=True):
        cells = (
            f'<td title="{weight:.3f}" style="background:rgba(8,81,156,{weight:.3f})"></td>'
            for weight in row
        )
        lines.append(f"<tr>{head(symbol)}{''.join(cells)}</tr>")
    body = "\n".join(lines)
    return f"<table>\n<caption>{escape(panel.title)}</caption>\n{body}\n</table>"


def save_heat_maps(path: Path, panels: Sequence[Panel]) -> None:
    """Save heat maps side by side in an ``.svg``, ``.png`` or ``.pdf`` file.

    The file is written atomically, and the same picture gives the same bytes. Matplotlib's global
    state is untouched. Labels in SVG are outlines, which need no fonts.
    """
    suffix = path.suffix.lower()
    if suffix not in KINDS:
        kind = suffix or "a file without a suffix"
        raise HardalignError(f"{path}: a picture is .svg, .png or .pdf, not {kind}")
    try:
        import matplotlib as mpl
        from matplotlib.font_manager import fontManager
    except ModuleNotFoundError:
        raise MissingPackageError("a picture", "matplotlib", "plot") from None
    installed = {font.name for font in fontManager.ttflist}
    settings: dict[Any, Any] = {
        "font.family": [family for family in FONTS if family in installed],
        "text.parse_math": False,  # a dollar sign is a symbol like any other
        "text.usetex": False,
        "svg.fonttype": "path",
        "svg.hashsalt": "hardalign",
        "pdf.fonttype": 42,
    }
    with mpl.rc_context(settings):
        figure = _heat_maps(panels)
        with whole_file(path) as file:
            figure.savefig(file, format=suffix[1:], metadata=KINDS[suffix], bbox_inches="tight")


def _heat_maps(panels: Sequence[Panel]) -> Figure:
    """Draw heat maps side by side, with the same cell size and colour scale."""
    from matplotlib.figure import Figure
    from rich.cells import cell_len

    cell = min(CELL, MAX_SIDE / max(size for panel in panels for size in panel.weights.shape))
    figure = Figure((1, 1), dpi=100)  # one inch square, so that axes are placed in inches
    left = 0.0
    for panel in panels:
        rows, columns = panel.weights.shape
        left += 0.4 + 0.1 * max(cell_len(label(text)) for text in panel.rows)
        space = max(cell * columns, MIN_WIDTH)
        margin = (space - cell * columns) / 2
        ax = figure.add_axes((left + margin, -cell * rows, cell * columns, cell * rows))
        mesh = _heat_map(ax, panel, cell)
        left += space
    height = min(MIN_WIDTH, cell * max(len(panel.rows) for panel in panels))
    bar = figure.add_axes((left + 0.15, -height, 0.12, height))
    figure.colorbar(mesh, cax=bar, ticks=[0, 0.5, 1])
    bar.spines[:].set_visible(False)
    return figure


def _heat_map(ax: Axes, panel: Panel, cell: float) -> QuadMesh:
    from rich.cells import cell_len

    is_large = panel.weights.size > MAX_VECTOR_CELLS
    mesh = ax.pcolormesh(
        panel.weights,
        cmap="Blues",  # one hue, for colour-blind readers and black-and-white printers
        vmin=0,
        vmax=1,
        edgecolors="none" if is_large else "#dddddd",
        linewidth=0.4,
        rasterized=is_large,
    )
    ax.invert_yaxis()
    ax.set_title(panel.title.replace(": ", "\n"), fontsize=9)
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.spines[:].set_visible(False)
    for axis, symbols in ((ax.xaxis, panel.columns), (ax.yaxis, panel.rows)):
        labels = [label(symbol) for symbol in symbols]
        axis.set_ticks(np.arange(len(labels)) + 0.5, labels, fontsize=cell * 40)  # half a cell
    for tick in ax.xaxis.get_ticklabels():
        if cell_len(tick.get_text()) > 2:  # it would run into its neighbours
            tick.set_rotation(90)
    return mesh


def curve_text(epochs: Sequence[Mapping[str, Any]]) -> str:
    """Return training curves as text: first value, sparkline, last value."""
    lines = []
    for field, name in CURVES.items():
        values: list[Any] = [row.get(field) for row in epochs]
        if all(isinstance(value, int | float) and isfinite(value) for value in values) and values:
            low, high = min(values), max(values)
            span = (high - low) or 1.0
            bars = "".join(BARS[round((value - low) / span * (len(BARS) - 1))] for value in values)
            lines.append(f"{name:<20} {values[0]:>8.4g} {bars} {values[-1]:.4g}")
    if not lines:
        raise HardalignError("there are no epochs to draw: metrics.jsonl has no figures")
    return "\n".join(lines)


@dataclass(frozen=True)
class Table:
    """A table of formatted cells."""

    caption: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: int = 1
    """Number of leading text columns; the others hold numbers, aligned right."""

    def markdown(self) -> str:
        """Return the table as Markdown, with every cell escaped."""
        rule = ["---"] * self.texts + ["---:"] * (len(self.header) - self.texts)
        header, *rows = ([*map(escape_markdown, row)] for row in (self.header, *self.rows))
        lines = (f"| {' | '.join(cells)} |\n" for cells in (header, rule, *rows))
        return f"**{escape_markdown(self.caption)}**\n\n{''.join(lines)}"

    def text(self) -> str:
        """Return the table for a terminal, columns aligned."""
        from rich.cells import cell_len

        rows = [self.header, *self.rows]
        widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            blanks = [" " * (w - cell_len(cell)) for w, cell in zip(widths, row, strict=True)]
            cells = [
                cell + blank if index < self.texts else blank + cell
                for index, (cell, blank) in enumerate(zip(row, blanks, strict=True))
            ]
            lines.append("  ".join(cells).rstrip() + "\n")
        return "".join(lines)


def escape_markdown(text: str) -> str:
    """Return a text on one line, with Markdown's special characters escaped."""
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", " ".join(text.split()))


def number(value: float | None, decimals: int, *, sign: bool = False) -> str:
    """Format a figure, or a dash if it is missing."""
    if value is None:
        return MISSING
    rounded = round(value, decimals) + 0.0  # -0.04 is 0.0, not -0.0
    return f"{rounded:+.{decimals}f}" if sign else f"{rounded:.{decimals}f}"


def with_deviation(value: float | None, deviation: float | None, decimals: int) -> str:
    """Format a mean with its standard deviation, if there is one."""
    text = number(value, decimals)
    return text if deviation is None else f"{text} ± {number(deviation, decimals)}"
