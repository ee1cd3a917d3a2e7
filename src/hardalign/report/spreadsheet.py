"""All figures of a grid as CSV, one row each, for other programs to read."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable
from dataclasses import asdict

from hardalign.report.cells import Cell, Cells, Setting, average
from hardalign.report.pairwise import Square
from hardalign.report.paper import ACC, MFS, MLD, PER, WER, Metric, published

Row = dict[str, str | int | float | None]


def results_csv(cells: Cells) -> str:
    """Returns every figure of every setting and system that has runs, the paper's beside it.

    Where there are several seeds, epochs and seconds are means.
    """
    return _write(
        _figures(setting, cell, metric)
        for setting, systems in cells.items()
        for cell in systems.values()
        for metric in (ACC, WER, PER, MFS, MLD)
    )


def pairs_csv(compared: dict[Setting, Square]) -> str:
    """Returns every pair of systems that was compared on a data set."""
    return _write(
        asdict(setting)
        | {"first": first, "second": second, "points": test.difference}
        | {"low": test.low, "high": test.high, "p": test.p, "p_holm": p, "items": test.items}
        for setting, square in compared.items()
        for (first, second), (test, p) in square.items()
    )


def _figures(setting: Setting, cell: Cell, metric: Metric) -> Row:
    paper = published(setting.corpus, setting.size, cell.system, metric)
    ours, deviation = average([cell], metric)
    results = cell.results
    return {
        "task": setting.task,
        **asdict(setting),
        "system": cell.system,
        "metric": metric.name,
        "paper": paper,
        "ours": ours,
        "sd": deviation,
        "difference": None if paper is None or ours is None else ours - paper,
        "seeds": " ".join(str(result.run.seed) for result in results),
        "items": results[0].sources,
        "parameters": results[0].parameters,
        "epochs": statistics.fmean(result.epochs for result in results),
        "seconds": statistics.fmean(result.seconds for result in results),
    }


def _write(rows: Iterable[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for index, row in enumerate(rows):
        if index == 0:
            writer.writerow(row)
        writer.writerow(f"{v:.6g}" if isinstance(v, float) else v for v in row.values())
    return text.getvalue()
