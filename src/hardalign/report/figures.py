"""Pictures of a grid's results, drawn by matplotlib where it is installed."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardalign.files import whole_file
from hardalign.report.cells import Cell, Cells, average
from hardalign.report.paper import ACC, SIZES, TASKS, in_order, paper_name, published_accuracy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#000000")
"""Those that every eye tells apart (Okabe & Ito)."""
MARKERS = "os^vDPX*"
SIZE_COLOURS = dict(zip(SIZES, (COLOURS[0], COLOURS[2]), strict=True))
SHIFTS = dict(zip(SIZES, (-0.16, 0.16), strict=True))
"""How far the sizes of one system are apart, in rows."""


def save_figures(folder: Path, cells: Cells) -> dict[Path, str] | None:
    """Draws what there is to draw of the runs that follow the paper's recipes.

    The same cells give the same bytes.

    Returns:
        The files with their descriptions, or None if matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        return None
    pictures: dict[str, tuple[Callable[[Cells], Figure | None], str]] = {
        "accuracy.svg": (draw_accuracy, "Accuracy by system and size"),
        "against-paper.svg": (draw_against_paper, "Our accuracy against the paper's"),
    }
    plain = {setting: systems for setting, systems in cells.items() if not setting.overrides}
    style: dict[Any, Any] = {"svg.fonttype": "path", "svg.hashsalt": "hardalign", "font.size": 9}
    saved = {}
    with mpl.rc_context(style):
        for name, (draw, description) in pictures.items():
            if (figure := draw(plain)) is not None:
                with whole_file(folder / name) as file:
                    figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight")
                saved[folder / name] = description
    return saved


def draw_accuracy(cells: Cells) -> Figure | None:
    """Draws the mean accuracy of each system, a panel per task, the paper's mean as a ring.

    Means are over the data sets that all systems of a panel and size have, so that they compare.
    Lines are as long as the standard deviation over seeds, on both sides.
    """
    tasks = [task for task in TASKS if any(setting.task == task for setting in cells)]
    systems = in_order(system for cell in cells.values() for system in cell)
    if not tasks:
        return None
    figure, axes = _panels(tasks, height=1.5 + 0.34 * len(systems), sharey=True)
    for ax, task in zip(axes, tasks, strict=True):
        scope = []
        for size in SIZES:
            group = {s.corpus: c for s, c in cells.items() if (s.task, s.size) == (task, size)}
            if group:
                scope.append(_draw_size(ax, systems, size, group))
        ax.set_title("\n".join([TASKS[task], *scope]), fontsize=9)
        ax.set_xlabel("accuracy, %")
    axes[0].set_yticks(range(len(systems)), [system_label(system) for system in systems])
    axes[0].set_ylim(len(systems) - 0.5, -0.5)
    _add_legend(figure, axes, loc="outside lower center", ncols=4)
    return figure


def _draw_size(ax: Axes, systems: list[str], size: str, group: dict[str, dict[str, Cell]]) -> str:
    """Draws the systems of one size; says over how many data sets the means are."""
    present = {system for cells in group.values() for system in cells}
    common = [corpus for corpus, cells in group.items() if present <= cells.keys()]
    for row, system in enumerate(systems):
        mean, deviation = average([group[c][system] for c in common if system in group[c]], ACC)
        if mean is None:
            continue
        y, spread = row + SHIFTS[size], deviation or 0
        look: dict[str, Any] = {"color": SIZE_COLOURS[size], "zorder": 3}
        ax.plot([mean - spread, mean + spread], [y, y], linewidth=1.5, **look)
        ax.plot([mean], [y], "o", markersize=5, label=f"{size}, ours", **look)
        theirs = [published_accuracy(corpus, size, system) for corpus in common]
        if figures := [figure for figure in theirs if figure is not None]:
            look |= {"markersize": 8, "markerfacecolor": "none"}
            ax.plot([statistics.fmean(figures)], [y], "o", label=f"{size}, the paper's", **look)
    return f"{size}: {len(common)} of {len(group)} data sets"


def draw_against_paper(cells: Cells) -> Figure | None:
    """Draws our accuracy over the paper's, a panel per task, a point per data set and system."""
    points = [
        (setting, system, paper, cell.accuracy)
        for setting, systems in cells.items()
        for system, cell in systems.items()
        if (paper := published_accuracy(setting.corpus, setting.size, system)) is not None
    ]
    tasks = [task for task in TASKS if any(setting.task == task for setting, *_ in points)]
    if not tasks:
        return None
    figure, axes = _panels(tasks, height=3.6)
    order = in_order({system for _, system, _, _ in points})
    for ax, task in zip(axes, tasks, strict=True):
        shown = [point for point in points if point[0].task == task]
        values = [accuracy for _, _, *accuracies in shown for accuracy in accuracies]
        ends = min(values) - 1, max(values) + 1
        ax.plot(ends, ends, color="#999999", linewidth=0.8, zorder=0)
        for setting, system, paper, ours in shown:
            colour = COLOURS[order.index(system) % len(COLOURS)]
            marker = MARKERS[order.index(system) % len(MARKERS)]
            small = setting.size == "small"
            look: dict[str, Any] = {"markerfacecolor": colour if small else "none", "alpha": 0.8}
            text = system_label(system) + ("" if small else ", large")
            ax.plot([paper], [ours], marker, color=colour, markersize=5, label=text, **look)
        ax.set_title(TASKS[task], fontsize=9)
        ax.set_xlabel("accuracy in the paper, %")
        ax.set_aspect("equal")
    axes[0].set_ylabel("our accuracy, %")
    _add_legend(figure, axes, loc="outside right upper")
    return figure


def system_label(system: str) -> str:
    """Returns the name of a system, with its name in the paper."""
    name = paper_name(system)
    return f"{system} ({name})" if name else system


def _panels(tasks: list[str], height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure((1.6 + 2.9 * len(tasks), height), layout="constrained")
    axes = list(figure.subplots(1, len(tasks), squeeze=False, **options)[0])
    for ax in axes:
        ax.grid(color="#e5e5e5", linewidth=0.6)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    return figure, axes


def _add_legend(figure: Figure, axes: list[Axes], **options: Any) -> None:
    """Adds one legend for all panels, each label once."""
    marks: dict[str, Any] = {}
    for ax in axes:
        handles, texts = ax.get_legend_handles_labels()
        marks |= dict(zip(texts, handles, strict=True))
    figure.legend(list(marks.values()), list(marks), frameon=False, **options)
