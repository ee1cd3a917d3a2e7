"""Our accuracy over the paper's: how far each data set and system is from the diagonal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hardalign.report.cells import Cells, Setting
from hardalign.report.paper import ACC, TASKS, paper_systems, published_accuracy
from hardalign.systems import SYSTEMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

STYLES = [
    ("#0072B2", "o"),
    ("#56B4E9", "s"),
    ("#D55E00", "^"),
    ("#E69F00", "v"),
    ("#009E73", "D"),
    ("#CC79A7", "P"),
    ("#000000", "X"),
]
"""Colour (Okabe & Ito) and shape of the paper's systems: either alone tells them apart."""
NAMED = 3
"""How many points of a panel are named, those farthest from the diagonal."""


class Point(NamedTuple):
    """A system in a setting: the accuracy of the paper and ours."""

    setting: Setting
    system: str
    paper: float
    ours: float


def draw_against_paper(cells: Cells) -> Figure | None:
    """Draw one panel per task, one point per data set, size and system; None without points."""
    from matplotlib.figure import Figure

    points = [
        Point(setting, system, paper, cell.mean(ACC))
        for setting, systems in cells.items()
        for system, cell in systems.items()
        if (paper := published_accuracy(setting.corpus, setting.size, system)) is not None
    ]
    tasks = [task for task in TASKS if any(point.setting.task == task for point in points)]
    if not tasks:
        return None
    figure = Figure((1.8 + 3.2 * len(tasks), 3.6), layout="constrained")
    axes = figure.subplots(1, len(tasks), squeeze=False)[0]
    for ax, task in zip(axes, tasks, strict=True):
        _draw_panel(ax, [point for point in points if point.setting.task == task])
        ax.set_title(TASKS[task], fontsize=9)
    axes[0].set_ylabel("our accuracy, %")
    figure.legend(handles=_legend(points), loc="outside right upper", frameon=False)
    return figure


def label(system: str) -> str:
    """The name of a system, with that in the paper."""
    return f"{system} ({SYSTEMS[system].paper})" if system in paper_systems() else system


def _draw_panel(ax: Axes, points: list[Point]) -> None:
    values = [value for point in points for value in (point.paper, point.ours)]
    margin = 0.5 + 0.1 * (max(values) - min(values))
    ends = min(values) - margin, max(values) + margin
    ax.plot(ends, ends, color="#999999", linewidth=0.8, zorder=0)
    for point in points:
        colour, marker = STYLES[paper_systems().index(point.system)]
        face = colour if point.setting.size == "small" else "none"
        look: dict[str, Any] = {"color": colour, "markerfacecolor": face, "alpha": 0.8}
        ax.plot([point.paper], [point.ours], marker, markersize=5, **look)
    _name_farthest(ax, points, margin)
    ax.set_xlim(ends)
    ax.set_ylim(ends)
    ax.set_aspect("equal")
    ax.set_xlabel("accuracy in the paper, %")
    ax.grid(color="#e5e5e5", linewidth=0.6)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _name_farthest(ax: Axes, points: list[Point], room: float) -> None:
    """Name the points farthest from the diagonal, on its far side, unless a name is there."""
    low, high = min(p.paper for p in points), max(p.paper for p in points)
    named: list[Point] = []
    for point in sorted(points, key=lambda one: -abs(one.ours - one.paper)):
        if len(named) == NAMED:
            break
        if any(abs(point.ours - other.ours) < room / 2 for other in named):
            continue
        above = point.ours > point.paper
        # Away from the diagonal, but not out of the panel.
        left = point.paper > low + (high - low) * (1 / 3 if above else 2 / 3)
        ax.annotate(
            f"{point.setting.corpus.partition('/')[2]} ({SYSTEMS[point.system].paper})",
            (point.paper, point.ours),
            xytext=(0, 5 if above else -5),
            textcoords="offset points",
            ha="right" if left else "left",
            va="bottom" if above else "top",
            fontsize=7,
        )
        named.append(point)


def _legend(points: list[Point]) -> list[Line2D]:
    """One entry for each system, and for each size if there are two."""
    from matplotlib.lines import Line2D

    def entry(text: str, colour: str, marker: str, face: str) -> Line2D:
        look: dict[str, Any] = {"color": colour, "marker": marker, "markerfacecolor": face}
        return Line2D([], [], linestyle="none", label=text, **look)

    present = {point.system for point in points}
    entries = [
        entry(label(system), colour, marker, colour)
        for system, (colour, marker) in zip(paper_systems(), STYLES, strict=True)
        if system in present
    ]
    if len({point.setting.size for point in points}) > 1:
        grey = "#777777"
        entries += [
            entry("filled: small", grey, "o", grey),
            entry("hollow: large", grey, "o", "none"),
        ]
    return entries
