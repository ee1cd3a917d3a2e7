"""The results of a grid, put together where only the seed differs, and compared item by item."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hardalign.config import TrainingConfig
from hardalign.report.paper import (
    BATCH_SIZES,
    OTHER,
    TASKS,
    Metric,
    in_order,
    paper_corpora,
    task_of,
)
from hardalign.report.significance import Floats
from hardalign.runs import Result, Run


@dataclass(frozen=True)
class Setting:
    """What systems have in common when they are compared."""

    corpus: str
    size: str
    overrides: str = ""
    """What differs from the paper's recipe for the size and task, in words; empty if nothing."""

    @property
    def task(self) -> str:
        """Returns the task of its corpus."""
        return task_of(self.corpus)

    @property
    def is_the_papers(self) -> bool:
        """Says whether it is one of the paper's tasks, trained by the paper's recipe to its end."""
        return self.task != OTHER and not self.overrides

    def __str__(self) -> str:
        return f"{self.corpus}, {self.size}" + (f" ({self.overrides})" if self.overrides else "")


@dataclass(frozen=True)
class Cell:
    """The runs of one system in one setting, which differ by their seeds."""

    system: str
    results: tuple[Result, ...]
    """At least one, by seed."""

    @property
    def accuracies(self) -> list[float]:
        """Returns the accuracy of each run."""
        return [result.metrics["acc"] for result in self.results]

    @property
    def accuracy(self) -> float:
        """Returns the mean accuracy over seeds."""
        return statistics.fmean(self.accuracies)

    def values(self, metric: Metric) -> dict[int, float]:
        """Returns the figures of the runs by seed."""
        key = metric.key
        return {r.run.seed: r.metrics[key] for r in self.results if key in r.metrics}


Cells = dict[Setting, dict[str, Cell]]
"""The cells of a grid by setting and system, in the order of the tables."""


def average(cells: Sequence[Cell], metric: Metric) -> tuple[float | None, float | None]:
    """Returns the mean over cells, and its deviation over the seeds that all of them have.

    The mean is None where a cell has no such figure. The deviation is that of a sample (n - 1), and
    None of a single seed.
    """
    values = [cell.values(metric) for cell in cells]
    if not all(values) or not values:
        return None, None
    common = set.intersection(*map(set, values))
    by_seed = [statistics.fmean(figures[seed] for figures in values) for seed in common]
    deviation = statistics.stdev(by_seed) if len(by_seed) > 1 else None
    return statistics.fmean(statistics.fmean(figures.values()) for figures in values), deviation


def collect(results: Iterable[Result]) -> Cells:
    """Returns the cells that results belong to."""
    groups: dict[Setting, dict[str, list[Result]]] = {}
    for result in results:
        run = result.run
        setting = Setting(run.corpus, run.size, _deviations(run))
        groups.setdefault(setting, {}).setdefault(run.system, []).append(result)
    return {
        setting: {
            system: Cell(system, tuple(sorted(groups[setting][system], key=lambda r: r.run.seed)))
            for system in in_order(groups[setting])
        }
        for setting in sorted(groups, key=_rank)
    }


def differences(first: Cell, second: Cell) -> Floats | None:
    """Returns how much better the first did on each item, in points of accuracy (-100 to 100).

    Accuracy on an item is the share of seeds that had it right. Only runs that were evaluated on
    the very same items are compared; None if there are no such runs.
    """
    by_items = dict(_item_accuracy(second))
    points = [
        accuracy - by_items[items] for items, accuracy in _item_accuracy(first) if items in by_items
    ]
    return np.concatenate(points) if points else None


def _item_accuracy(cell: Cell) -> Iterator[tuple[str, Floats]]:
    """Gives the accuracy on each item in per cent, for every set of items that runs have."""
    by_items: dict[str, list[list[int]]] = {}
    for result in cell.results:
        if result.correct:  # runs recorded long ago have no items
            by_items.setdefault(result.sources_sha256, []).append(result.correct)
    for items, correct in by_items.items():
        yield items, 100 * np.mean(np.array(correct, dtype=np.float64), axis=0)


def _deviations(run: Run) -> str:
    """Returns in words which settings of a run are not the paper's: ``epochs=1, words=600``."""
    usual = TrainingConfig.batch_size
    settings = {"batch_size": usual} | run.overrides
    if settings["batch_size"] == BATCH_SIZES.get(task_of(run.corpus), usual):
        del settings["batch_size"]
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in sorted(settings.items()))


def _rank(setting: Setting) -> tuple[int, int, str, bool, str]:
    """Sorts by task and corpus as in the paper, what it has not got after that; then by size."""
    known = paper_corpora(setting.task)
    return (
        list(TASKS).index(setting.task),
        known.index(setting.corpus) if setting.corpus in known else len(known),
        setting.corpus,
        setting.size != "small",
        setting.overrides,
    )
