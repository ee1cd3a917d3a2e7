"""All figures of a grid as CSV, one row each, for other programs to read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

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

Value = str | int | float | None

RESULTS = (
    "task",
    "corpus",
    "size",
    "overrides",
    "system",
    "metric",
    "paper",
    "ours",
    "sd",
    "difference",
    "seeds",
    "items",
    "parameters",
    "epochs",
    "seconds",
)
PAIRS = (
    "corpus",
    "size",
    "overrides",
    "first",
    "second",
    "points",
    "low",
    "high",
    "p",
    "p_holm",
    "items",
)


def results_csv(cells: Cells) -> str:
    """Every combination of the paper and every other that has runs; empty where there is none.

    Where there are several seeds, epochs and seconds are means.
    """
    return _write(RESULTS, _result_rows(cells))


def pairs_csv(pairs: Iterable[Pair]) -> str:
    """Every pair of systems that was compared on a data set."""
    return _write(
        PAIRS,
        (
            (
                pair.setting.corpus,
                pair.setting.size,
                pair.setting.overrides,
                pair.first,
                pair.second,
                pair.test.difference,
                pair.test.low,
                pair.test.high,
                pair.test.p,
                pair.p,
                pair.test.items,
            )
            for pair in pairs
        ),
    )


def _result_rows(cells: Cells) -> Iterator[Sequence[Value]]:
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
    for (setting, system), cell in {**paper, **present}.items():
        metrics = METRICS[setting.task]
        # A run has all metrics, whether or not the paper has them for this task.
        for metric in dict.fromkeys((*metrics, ACC, WER, PER, MFS, MLD)) if cell else metrics:
            yield _result_row(setting, system, metric, cell)


def _result_row(setting: Setting, system: str, metric: Metric, cell: Cell | None) -> list[Value]:
    paper = published(setting.corpus, setting.size, system, metric)
    row: list[Value] = [setting.task, setting.corpus, setting.size, setting.overrides, system]
    row += [metric.name, paper]
    if cell is None:
        return row + [None] * (len(RESULTS) - len(row))
    ours, runs = cell.mean(metric), cell.results
    return [
        *row,
        ours,
        cell.deviation(metric),
        None if paper is None else ours - paper,
        " ".join(str(run.run.seed) for run in runs),
        runs[0].sources,
        runs[0].parameters,
        sum(run.epochs for run in runs) / len(runs),
        sum(run.seconds for run in runs) / len(runs),
    ]


def _write(header: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(
        [f"{value:.6g}" if isinstance(value, float) else value for value in row] for row in rows
    )
    return text.getvalue()
