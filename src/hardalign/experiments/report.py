"""``hardalign reproduce --report``: tables and figures of a grid's folder, as Markdown and SVG."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardalign import __version__
from hardalign.errors import HardalignError, install_command
from hardalign.experiments.paper import TASKS, in_order, paper_name, published_accuracy, remarks
from hardalign.experiments.run import RESULT, read_failures, read_results
from hardalign.experiments.tables import Cells, collect, pair_tables, paper_tables
from hardalign.files import make_folder, whole_file, write_bytes
from hardalign.model_folder import RUN
from hardalign.significance import LEVEL, TEST
from hardalign.table import MISSING, Table, escape_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER, FIGURE = "report", "against-paper.svg"
COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#000000")
"""A palette for colour-blind readers, too (Okabe & Ito)."""
MARKERS = "os^vDPX*"

ABOUT_TABLES = f"""\
Ours is the mean over seeds, ± the standard deviation of the sample where there are several runs.
Difference is ours minus the paper's; {MISSING} is no figure. Means, ours and the paper's, are over
the data sets of the paper that have a run of that system.
ACC and MFS: higher is better; WER, PER and MLD: lower is better.
"""
ABOUT_PAIRS = f"""\
In points of accuracy; * where p < {LEVEL}, corrected for all pairs of a table by Holm's method;
{MISSING} where two systems have no runs on the same items. Over several data sets each counts the
same, and their number is in brackets. Test: {TEST}. It says nothing about other seeds.
"""


def write_report(folder: Path) -> list[Path]:
    """Write the report of a grid into the folder ``report`` inside it; return the files."""
    results, failures = read_results(folder), read_failures(folder)
    runs = [path.parent for path in folder.glob(f"*/{RUN}")]
    if not runs:
        raise HardalignError(
            f"{folder}: has no runs; `hardalign reproduce PLAN --out DIR` makes some"
        )
    cells, target = collect(results), folder / FOLDER
    make_folder(target)
    failed = {name: one for name, one in failures.items() if not (folder / name / RESULT).exists()}
    unfinished = len(runs) - len(results) - len(failed)
    versions = ", ".join(sorted({result.version for result in results})) or MISSING
    figures = save_figures(target, cells)
    parts = [
        "# Results\n",
        f"Runs: {len(results)} complete, {len(failed)} failed, {unfinished} unfinished. "
        f"Evaluated by hardalign {versions}, reported by {__version__}.\n",
        *(
            f"- failed: {escape_markdown(name)}: {escape_markdown(failure.error)} "
            f"(attempt {failure.attempt})\n"
            for name, failure in failed.items()
        ),
        ABOUT_TABLES,
        *(f"{escape_markdown(remark)}\n" for remark in remarks(s.corpus for s in cells)),
        *_section("Beside the figures of Wu, Shapiro & Cotterell (2018)", paper_tables(cells)),
        *(f"![ours against the paper's]({path.name})\n" for path in figures or ()),
        *_section("System against system", pair_tables(cells), ABOUT_PAIRS),
    ]
    if figures is None:
        parts.append(f"Figures need matplotlib; run {install_command('plot')}.\n")
    write_bytes(target / "report.md", "\n".join(parts).encode())
    return [target / "report.md", *(figures or ())]


def _section(title: str, tables: Iterator[Table], about: str = "") -> Iterator[str]:
    if found := [table.markdown() for table in tables]:
        yield from (f"## {title}\n", about, *found)


def save_figures(folder: Path, cells: Cells) -> list[Path] | None:
    """Draw runs by the paper's recipe over the paper's figures; None without matplotlib."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        return None
    style: dict[Any, Any] = {"svg.fonttype": "path", "svg.hashsalt": "hardalign", "font.size": 9}
    with mpl.rc_context(style):
        figure = draw_paper({s: systems for s, systems in cells.items() if not s.overrides})
        if figure is None:
            return []
        with whole_file(folder / FIGURE) as file:
            figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight")
    return [folder / FIGURE]


def draw_paper(cells: Cells) -> Figure | None:
    """Draw our accuracy over the paper's, a panel per task, a dot per data set and system."""
    points = [
        (setting, system, paper, cell.accuracy)
        for setting, systems in cells.items()
        for system, cell in systems.items()
        if (paper := published_accuracy(setting.corpus, setting.size, system)) is not None
    ]
    tasks = list(dict.fromkeys(setting.task for setting, *_ in points))
    if not tasks:
        return None
    from matplotlib.figure import Figure

    figure = Figure((1.6 + 2.9 * len(tasks), 3.6), layout="constrained")
    axes = figure.subplots(1, len(tasks), squeeze=False)[0]
    marks: dict[str, Any] = {}
    order = in_order({system for _, system, _, _ in points})
    for ax, task in zip(axes, tasks, strict=True):
        shown = [point for point in points if point[0].task == task]
        values = [accuracy for _, _, *accuracies in shown for accuracy in accuracies]
        ends = min(values) - 1, max(values) + 1
        ax.plot(ends, ends, color="#999999", linewidth=0.8, zorder=0)
        for setting, system, paper, ours in shown:
            index, small = order.index(system), setting.size == "small"
            colour = COLOURS[index % len(COLOURS)]
            look: dict[str, Any] = {"markerfacecolor": colour if small else "none", "alpha": 0.8}
            name = f"{system} ({paper_name(system)})" + ("" if small else ", large")
            mark = MARKERS[index % len(MARKERS)]
            marks[name] = ax.plot([paper], [ours], mark, color=colour, markersize=4, **look)[0]
        ax.set_title(TASKS[task], fontsize=9)
        ax.set_xlabel("accuracy in the paper, %")
        ax.set_aspect("equal")
        ax.grid(color="#e5e5e5", linewidth=0.6)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    axes[0].set_ylabel("our accuracy, %")
    figure.legend(list(marks.values()), list(marks), frameon=False, loc="outside right upper")
    return figure
