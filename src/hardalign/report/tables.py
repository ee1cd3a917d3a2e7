"""Our figures, the paper's beside them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from itertools import groupby

from hardalign.report.cells import Cell, Cells, Setting, average
from hardalign.report.markup import MISSING, Table, number, with_deviation
from hardalign.report.paper import (
    ACC,
    METRICS,
    MLD,
    OTHER,
    PER,
    SIZES,
    TASKS,
    Metric,
    in_order,
    paper_corpora,
    paper_name,
    paper_systems,
    published,
    published_average,
)

Row = tuple[str, ...]


def summary_table(cells: Cells) -> Table:
    """Returns what a grid has achieved, a row for each system and setting, for a terminal."""
    metrics = (ACC, PER, MLD)
    rows = [
        (
            str(setting),
            system,
            str(len(cell.results)),
            *(with_deviation(*average([cell], metric), metric.decimals) for metric in metrics),
        )
        for setting, systems in cells.items()
        for system, cell in systems.items()
    ]
    header = ("Data", "System", "Seeds", *(metric.name for metric in metrics))
    return Table("What the runs achieved", header, rows, 2)


def average_tables(cells: Cells) -> Iterator[Table]:
    """Gives the paper's main table for each task, size and recipe that has runs.

    Ours and the paper's are over the data sets that both have; the paper's average over all of its
    data sets stands beside them.
    """
    for title, task, size, settings in _groups(cells):
        everything = paper_corpora(task)
        shared = {s.corpus: cells[s] for s in settings if s.corpus in everything}
        if not shared:
            continue
        rows = [
            (
                *_names(system),
                f"{sum(system in systems for systems in shared.values())} of {len(everything)}",
                *_average(task, size, system, shared),
            )
            for system in _systems(shared.values())
        ]
        columns = ("paper, all", "paper", "ours", "difference")
        header = ("System", "Paper's", "Data sets", *_columns(task, columns))
        yield Table(f"{title}: averages over data sets", header, rows, 2)


def breakdown_tables(cells: Cells) -> Iterator[Table]:
    """Gives every data set that has a run, in a table for each task, size and recipe."""
    for title, task, _, settings in _groups(cells):
        rows = [
            (setting.corpus, *_names(system), *_breakdown(setting, system, cells[setting]))
            for setting in settings
            for system in _systems([cells[setting]], setting.corpus in paper_corpora(task))
        ]
        columns = _columns(task, ("paper", "ours", "difference"))
        header = ("Data set", "System", "Paper's", "Seeds", *columns)
        yield Table(f"{title}: by data set", header, rows, 3)


def coverage_table(cells: Cells) -> Table:
    """Returns how much of the paper's grid there is."""
    rows: list[Row] = []
    for task in (task for task in TASKS if task != OTHER):
        corpora = paper_corpora(task)
        present = {s for s in cells if s.corpus in corpora and s.size in SIZES}
        runs = {(s.corpus, s.size, paper_name(system)) for s in present for system in cells[s]}
        count = sum(name is not None for _, _, name in runs)
        everything = len(corpora) * len(SIZES) * len(paper_systems())
        without = [c for c in corpora if c not in {s.corpus for s in present}]
        rows.append(
            (
                TASKS[task],
                ", ".join(corpus.partition("/")[2] for corpus in without) or MISSING,
                f"{len(corpora) - len(without)} of {len(corpora)}",
                f"{count} of {everything}",
                str(everything - count),
            )
        )
    header = ("Task", "Data sets without a run", "Data sets with runs", "Combinations", "Missing")
    caption = "The paper's combinations of data set, size and system, and how many have a run"
    return Table(caption, header, rows, 2)


def _average(
    task: str, size: str, system: str, shared: dict[str, dict[str, Cell]]
) -> Iterator[str]:
    ours = {corpus: systems[system] for corpus, systems in shared.items() if system in systems}
    for metric in METRICS[task]:
        theirs = [published(corpus, size, system, metric) for corpus in ours]
        figures = [figure for figure in theirs if figure is not None]
        paper = statistics.fmean(figures) if figures else None
        yield number(published_average(task, size, system, metric), metric.decimals)
        yield from _figures(paper, *average(list(ours.values()), metric), metric)


def _breakdown(setting: Setting, system: str, cells: dict[str, Cell]) -> Iterator[str]:
    cell = cells.get(system)
    yield str(len(cell.results)) if cell else MISSING
    for metric in METRICS[setting.task]:
        paper = published(setting.corpus, setting.size, system, metric)
        yield from _figures(paper, *average([cell] if cell else [], metric), metric)


def _figures(paper: float | None, ours: float | None, sd: float | None, metric: Metric) -> Row:
    difference = None if paper is None or ours is None else ours - paper
    return (
        number(paper, metric.decimals),
        with_deviation(ours, sd, metric.decimals),
        number(difference, metric.decimals, sign=True),
    )


def _groups(cells: Cells) -> Iterator[tuple[str, str, str, list[Setting]]]:
    """Gives the title, task, size and settings of each table: those of one recipe together."""

    def key(setting: Setting) -> tuple[int, bool, str]:
        return list(TASKS).index(setting.task), setting.size != "small", setting.overrides

    for _, group in groupby(sorted(cells, key=key), key):
        first, *others = group
        recipe = f" ({first.overrides})" if first.overrides else ""
        title = f"{TASKS[first.task]}, {first.size}{recipe}"
        yield title, first.task, first.size, [first, *others]


def _systems(cells: Iterable[dict[str, Cell]], with_paper: bool = True) -> list[str]:
    present = {system for systems in cells for system in systems}
    return in_order(present.union(paper_systems() if with_paper else ()))


def _names(system: str) -> Row:
    return system, paper_name(system) or MISSING


def _columns(task: str, columns: Row) -> Row:
    return tuple(f"{metric.name} {column}" for metric in METRICS[task] for column in columns)
