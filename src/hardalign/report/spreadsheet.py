"""All figures of a grid as CSV, one row each, for other programs to read."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable

from hardalign.report.cells import Cell, Cells, Setting
from hardalign.report.pairwise import Pair
from hardalign.report.paper import (
    ACC,
    METRICS,
    MFS,
    MLD,
    PER,
    SIZES,
    TASKS,
    WER,
    Metric,
    paper_corpora,
    paper_systems,
    published,
)

Row = dict[str, str | int | float | None]


def results_csv(cells: Cells) -> str:
    """Every combination of the paper and every other that has runs; empty where there is none.

    Where there are several seeds, epochs and seconds are means.
    """
    present = {
        (setting, system): cell for setting in cells for system, cell in cells[setting].items()
    }
    paper = {
        (Setting(corpus, size), system): None
        for task in TASKS
        for corpus in paper_corpora(task)
        for size in SIZES
        for system in paper_systems()
    }
    return _write(
        _figures(setting, system, metric, cell)
        for (setting, system), cell in {**paper, **present}.items()
        for metric in _metrics(setting, cell)
    )


def pairs_csv(pairs: Iterable[Pair]) -> str:
    """Every pair of systems that was compared on a data set."""
    rows = [
        _setting(pair.setting)
        | {"first": pair.first, "second": pair.second, "points": pair.test.difference}
        | {"low": pair.test.low, "high": pair.test.high, "p": pair.test.p, "p_holm": pair.p}
        | {"items": pair.test.items}
        for pair in pairs
    ]
    return _write(rows)


def _metrics(setting: Setting, cell: Cell | None) -> Iterable[Metric]:
    """A run has all metrics, whether or not the paper has them for this task."""
    metrics = METRICS[setting.task]
    return dict.fromkeys((*metrics, ACC, WER, PER, MFS, MLD)) if cell else metrics


def _figures(setting: Setting, system: str, metric: Metric, cell: Cell | None) -> Row:
    paper = published(setting.corpus, setting.size, system, metric)
    row: Row = {"task": setting.task, **_setting(setting), "system": system}
    row |= {"metric": metric.name, "paper": paper}
    ours = cell.mean(metric) if cell else None
    runs = cell.results if cell else ()
    return row | {
        "ours": ours,
        "sd": cell.deviation(metric) if cell else None,
        "difference": None if paper is None or ours is None else ours - paper,
        "seeds": " ".join(str(run.run.seed) for run in runs),
        "items": runs[0].sources if runs else None,
        "parameters": runs[0].parameters if runs else None,
        "epochs": statistics.fmean(run.epochs for run in runs) if runs else None,
        "seconds": statistics.fmean(run.seconds for run in runs) if runs else None,
    }


def _setting(setting: Setting) -> Row:
    return {"corpus": setting.corpus, "size": setting.size, "overrides": setting.overrides}


def _write(rows: Iterable[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for index, row in enumerate(rows):
        if index == 0:
            writer.writerow(row)
        writer.writerow(f"{v:.6g}" if isinstance(v, float) else v for v in row.values())
    return text.getvalue()
