"""Pictures of a grid's results, drawn by matplotlib where it is installed."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardalign.files import whole_file
from hardalign.report.cells import Cell, Cells, average_deviation
from hardalign.report.paper import ACC, SIZES, TASKS, in_order, published_accuracy
from hardalign.report.scatter import draw_against_paper, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"small": "#0072B2", "large": "#D55E00"}
"""Two that every eye tells apart (Okabe & Ito)."""
SHIFTS = {"small": -0.16, "large": 0.16}
"""How far the sizes of one system are apart, in rows."""


def save_figures(folder: Path, cells: Cells) -> dict[Path, str] | None:
    """Draw what there is to draw of the runs that follow the paper's recipes.

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
    """Mean accuracy of each system, one panel per task, with the paper's mean as a ring.

    Means are over the data sets that all systems of a panel and size have, so that they compare.
    Lines are as long as the standard deviation over seeds, on both sides.
    """
    from matplotlib.figure import Figure

    tasks = [task for task in TASKS if any(setting.task == task for setting in cells)]
    if not tasks:
        return None
    systems = in_order(system for cell in cells.values() for system in cell)
    width, height = 1.6 + 2.7 * len(tasks), 1.5 + 0.34 * len(systems)
    figure = Figure((width, height), layout="constrained")
    axes = list(figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0])
    for ax, task in zip(axes, tasks, strict=True):
        scope = []
        for size in SIZES:
            group = {s.corpus: c for s, c in cells.items() if (s.task, s.size) == (task, size)}
            if group:
                scope.append(_draw_size(ax, systems, size, group))
        ax.set_title("\n".join([TASKS[task], *scope]), fontsize=9)
        ax.set_xlabel("accuracy, %")
        ax.grid(color="#e5e5e5", linewidth=0.6)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    axes[0].set_yticks(range(len(systems)), [label(system) for system in systems])
    axes[0].set_ylim(len(systems) - 0.5, -0.5)
    entries = [ax.get_legend_handles_labels() for ax in axes]
    shown = {
        text: mark for marks, texts in entries for mark, text in zip(marks, texts, strict=True)
    }
    figure.legend(
        list(shown.values()), list(shown), loc="outside lower center", ncols=4, frameon=False
    )
    return figure


def _draw_size(ax: Axes, systems: list[str], size: str, group: dict[str, dict[str, Cell]]) -> str:
    """Draw the systems of one size; say over how many data sets the means are."""
    present = {system for cells in group.values() for system in cells}
    common = [corpus for corpus, cells in group.items() if present <= cells.keys()]
    for row, system in enumerate(systems):
        if system not in present or not common:
            continue
        y = row + SHIFTS[size]
        look: dict[str, Any] = {"color": COLOURS[size], "zorder": 3}
        mine = [group[corpus][system] for corpus in common]
        mean = statistics.fmean(cell.mean(ACC) for cell in mine)
        spread = average_deviation(mine, ACC) or 0
        ax.plot([mean - spread, mean + spread], [y, y], linewidth=1.5, **look)
        ax.plot([mean], [y], "o", markersize=5, label=f"{size}, ours", **look)
        theirs = [published_accuracy(corpus, size, system) for corpus in common]
        if known := [value for value in theirs if value is not None]:
            look |= {"markersize": 8, "markerfacecolor": "none"}
            ax.plot([statistics.fmean(known)], [y], "o", label=f"{size}, the paper's", **look)
    return f"{size}: {len(common)} of {len(group)} data sets"
