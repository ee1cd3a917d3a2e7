"""The paper's tables with ours beside them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from itertools import groupby

from hardalign.report.cells import Cell, Cells, Setting, average_deviation
from hardalign.report.markup import MISSING, Table, number, with_deviation
from hardalign.report.paper import (
    G2P,
    INFLECTION,
    METRICS,
    SIZES,
    TASKS,
    TRANSLITERATION,
    Metric,
    in_order,
    paper_corpora,
    paper_systems,
    published,
    published_average,
)
from hardalign.systems import SYSTEMS

Row = tuple[str, ...]


def average_tables(cells: Cells) -> Iterator[Table]:
    """The paper's main table, one per task, size and recipe that has runs.

    Ours and the paper's are over the data sets that both have; the paper's average over all of its
    data sets stands beside them.
    """
    for (task, size, overrides), settings in _groups(cells):
        everything = paper_corpora(task)
        shared = {s.corpus: cells[s] for s in settings if s.corpus in everything}
        if not shared:
            continue
        rows = [
            (
                *_names(system),
                f"{sum(system in one for one in shared.values())} of {len(everything)}",
                *_average(task, size, system, shared),
            )
            for system in _systems(shared.values())
        ]
        columns = ("paper, all", "paper", "ours", "difference")
        header = ("System", "Paper's", "Data sets", *_columns(task, columns))
        yield Table(f"{_title(task, size, overrides)}: averages over data sets", header, rows, 2)


def breakdown_tables(cells: Cells) -> Iterator[Table]:
    """Every data set that has a run, one table per task, size and recipe."""
    for (task, size, overrides), settings in _groups(cells):
        rows = [
            (setting.corpus, *_names(system), *_breakdown(setting, system, cells[setting]))
            for setting in settings
            for system in _systems([cells[setting]], setting.corpus in paper_corpora(task))
        ]
        columns = _columns(task, ("paper", "ours", "difference"))
        header = ("Data set", "System", "Paper's", "Seeds", *columns)
        yield Table(f"{_title(task, size, overrides)}: by data set", header, rows, 3)


def coverage_table(cells: Cells) -> Table:
    """How much of the paper's grid there is."""
    rows: list[Row] = []
    for task in (G2P, TRANSLITERATION, INFLECTION):
        corpora = paper_corpora(task)
        present = {s for s in cells if s.corpus in corpora and s.size in SIZES}
        pairs = {(s.corpus, s.size, y) for s in present for y in cells[s] if y in paper_systems()}
        all_pairs = len(corpora) * len(SIZES) * len(paper_systems())
        without = [c for c in corpora if c not in {s.corpus for s in present}]
        rows.append(
            (
                TASKS[task],
                ", ".join(corpus.partition("/")[2] for corpus in without) or MISSING,
                f"{len(corpora) - len(without)} of {len(corpora)}",
                f"{len(pairs)} of {all_pairs}",
                str(all_pairs - len(pairs)),
            )
        )
    header = ("Task", "Data sets without a run", "Data sets with runs", "Combinations", "Missing")
    return Table(
        "The paper's combinations of data set, size and system, and how many have a run",
        header,
        rows,
        2,
    )


def _average(
    task: str, size: str, system: str, shared: dict[str, dict[str, Cell]]
) -> Iterator[str]:
    mine = {corpus: systems[system] for corpus, systems in shared.items() if system in systems}
    for metric in METRICS[task]:
        theirs = [published(corpus, size, system, metric) for corpus in mine]
        known = [value for value in theirs if value is not None]
        paper = statistics.fmean(known) if known else None
        ours = statistics.fmean(c.mean(metric) for c in mine.values()) if mine else None
        yield number(published_average(task, size, system, metric), metric.decimals)
        yield from _figures(paper, ours, average_deviation(list(mine.values()), metric), metric)


def _breakdown(setting: Setting, system: str, cells: dict[str, Cell]) -> Iterator[str]:
    cell = cells.get(system)
    yield str(len(cell.results)) if cell else MISSING
    for metric in METRICS[setting.task]:
        paper = published(setting.corpus, setting.size, system, metric)
        ours = cell.mean(metric) if cell else None
        yield from _figures(paper, ours, cell.deviation(metric) if cell else None, metric)


def _figures(paper: float | None, ours: float | None, sd: float | None, metric: Metric) -> Row:
    difference = None if paper is None or ours is None else ours - paper
    return (
        number(paper, metric.decimals),
        with_deviation(ours, sd, metric.decimals),
        number(difference, metric.decimals, sign=True),
    )


def _groups(cells: Cells) -> Iterator[tuple[tuple[str, str, str], list[Setting]]]:
    """Settings that belong into one table: of one task, size and recipe."""

    def key(setting: Setting) -> tuple[int, bool, str]:
        return list(TASKS).index(setting.task), setting.size != "small", setting.overrides

    for _, group in groupby(sorted(cells, key=key), key):
        settings = list(group)
        yield (settings[0].task, settings[0].size, settings[0].overrides), settings


def _systems(cells: Iterable[dict[str, Cell]], with_paper: bool = True) -> list[str]:
    present = {system for systems in cells for system in systems}
    return in_order(present.union(paper_systems() if with_paper else ()))


def _names(system: str) -> Row:
    return system, SYSTEMS[system].paper if system in paper_systems() else MISSING


def _title(task: str, size: str, overrides: str) -> str:
    return f"{TASKS[task]}, {size}" + (f" ({overrides})" if overrides else "")


def _columns(task: str, columns: Row) -> Row:
    return tuple(f"{metric.name} {column}" for metric in METRICS[task] for column in columns)
