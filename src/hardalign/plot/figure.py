"""Heat maps as SVG and PNG files, drawn by matplotlib."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.cells import cell_len

from hardalign.errors import HardalignError, MissingPackageError
from hardalign.files import whole_file
from hardalign.plot.panel import Panel, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

CELL, LARGEST = 0.3, 30.0
"""Inches of a cell's side, less where a heat map would measure more than the second number."""
NARROWEST = 2.0
"""Inches that a title takes."""
MANY = 10_000
"""Cells; more are drawn as an image, without lines between them, or no program would open it."""
COLOURS = "Blues"
"""One hue: only darkness counts, as it does for eyes and printers that see no colours."""


def save_figure(path: Path, panels: Sequence[Panel]) -> str | None:
    """Draws heat maps side by side into a file, whole or not at all.

    The same panels give the same bytes, and nothing is left behind in matplotlib's state.

    Args:
        path: An ``.svg`` or ``.png`` file. Labels in SVG are outlines: they need no fonts.
        panels: The heat maps, from left to right.

    Returns:
        A line about characters that no installed font has, or None.

    Raises:
        HardalignError: If matplotlib is missing, or the file is neither SVG nor PNG.
    """
    suffix = path.suffix.lower()
    if suffix not in (".svg", ".png"):
        raise HardalignError(f"{path}: a picture is .svg or .png, not {suffix or 'without suffix'}")
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise MissingPackageError("a picture", "matplotlib", "plot") from None
    from hardalign.plot.fonts import describe_missing

    # A dollar sign is a symbol like any other, not the beginning of a formula.
    plain_text: dict[Any, Any] = {"text.parse_math": False, "text.usetex": False}
    outlines: dict[Any, Any] = {"svg.fonttype": "path", "svg.hashsalt": "hardalign"}
    with mpl.rc_context(plain_text | outlines), warnings.catch_warnings():
        # What no font has is told once, by us, and not at every place where it is drawn.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = draw_figure(panels)
        with whole_file(path) as file:
            metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
            figure.savefig(file, format=suffix[1:], metadata=metadata, bbox_inches="tight")
    return describe_missing(
        text for panel in panels for text in map(label, (*panel.rows, *panel.columns))
    )


def draw_figure(panels: Sequence[Panel]) -> Figure:
    """Draws heat maps side by side, with cells of one size and one scale of colours."""
    from matplotlib.figure import Figure

    cell = min(CELL, LARGEST / max(size for panel in panels for size in panel.weights.shape))
    figure = Figure((1, 1), dpi=100)  # inches are fractions; the file takes whatever is drawn

    def place(left: float, width: float, height: float) -> Axes:
        return figure.add_axes((left, -height, width, height))

    left = 0.0
    for panel in panels:
        rows, columns = panel.weights.shape
        left += 0.4 + 0.1 * max(cell_len(label(text)) for text in panel.rows)
        width = cell * columns
        space = max(width, NARROWEST)
        mesh = _draw(place(left + (space - width) / 2, width, cell * rows), panel, cell)
        left += space
    bar = place(left + 0.15, 0.12, min(NARROWEST, cell * max(len(p.rows) for p in panels)))
    figure.colorbar(mesh, cax=bar, ticks=[0, 0.5, 1])
    bar.spines[:].set_visible(False)
    return figure


def _draw(ax: Axes, panel: Panel, cell: float) -> QuadMesh:
    """Draws a heat map: target symbols from top to bottom, source symbols from left to right."""
    from hardalign.plot.fonts import font_for

    many = panel.weights.size > MANY
    mesh = ax.pcolormesh(
        panel.weights,
        cmap=COLOURS,
        vmin=0,
        vmax=1,
        edgecolors="none" if many else "#dddddd",
        linewidth=0 if many else 0.4,
        rasterized=many,
    )
    ax.invert_yaxis()
    ax.set_title(panel.title.replace(": ", "\n"), fontsize=9)
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.spines[:].set_visible(False)
    for axis, symbols in ((ax.xaxis, panel.columns), (ax.yaxis, panel.rows)):
        labels = [label(symbol) for symbol in symbols]
        axis.set_ticks(np.arange(len(labels)) + 0.5, labels)
        for tick, text in zip(axis.get_ticklabels(), labels, strict=True):
            tick.set_fontproperties(font_for(text))
            tick.set_fontsize(cell * 40)  # points: a little more than half a cell
            if axis is ax.xaxis and cell_len(text) > 2:  # it would run into its neighbours
                tick.set_rotation(90)
    return mesh
