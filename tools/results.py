"""`make results`: write all result figures in the documents from the record of runs.

    python tools/results.py [RUNS…]

First adds the complete runs of each folder RUNS (of `hardalign reproduce --out`) to the record
docs/results/runs.jsonl: a line of JSON per run, without weights, but with a bit per item for being
right, so that runs can be compared item by item. Then writes docs/against-paper.svg and the blocks
between `<!-- results:… -->` and `<!-- end -->` in the documents. A test fails if a page and the
record disagree.
"""

from __future__ import annotations

import base64
import csv
import json
import re
import statistics
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from hardalign.data.corpora import registry
from hardalign.errors import InputError
from hardalign.experiments.report import (
    G2P,
    INFLECTION,
    METRICS,
    SIZES,
    TASKS,
    TRANSLITERATION,
    WER,
    Cell,
    Cells,
    Metric,
    Setting,
    average,
    collect,
    in_order,
    paper_corpora,
    paper_name,
    published,
    task_of,
)
from hardalign.experiments.run import Result, Run, read_results
from hardalign.files import whole_file, write_bytes
from hardalign.metrics import LEVEL
from hardalign.plot import MISSING, number, with_deviation

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RECORD, PUBLISHED = DOCS / "results" / "runs.jsonl", DOCS / "results" / "published.csv"
TASK_NAMES = {"g2p": G2P, "transliteration": TRANSLITERATION, "inflection": INFLECTION}
PAGES = [
    DOCS / "evidence" / "systems.md",
    DOCS / "results.md",
    *(DOCS / "results" / f"{name}.md" for name in TASK_NAMES),
]
HONEST = "hold_out=true"
"""NEWS with a tenth of train held out for early stopping, not stopped on the test part."""
NEAR = 1.5
DATA_SETS = 63
"""The paper's except ArEn, whose training file is unavailable."""
_BLOCK = re.compile(r"(<!-- results:(\S+)((?: \S+)*) -->\n).*?(<!-- end -->)", re.DOTALL)

COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#000000")
"""A colour-blind-safe palette (Okabe & Ito)."""
MARKERS = "os^vDPX*"

Row = list[str]


class Claim(NamedTuple):
    """A claim that one system beats another."""

    better: str
    worse: str


SHARED_TASKS = {
    "SIGMORPHON 2020 G2P": (
        "SIGMORPHON 2020, 3,600 words",
        "ady gre hin hun ice jpn kor lit vie",
    ),
    "SIGMORPHON 2021 G2P low": ("SIGMORPHON 2021, 800 words", "ady gre ice ita khm"),
    "SIGMORPHON 2021 G2P medium": ("SIGMORPHON 2021, 8,000 words", "hun jpn_hira kor vie_hanoi"),
}
"""Later grapheme-to-phoneme shared tasks, with the languages whose data is available."""
AUTO = {"recipe", "hold_out", "members"}
"""Settings that still count as the recipe auto without other options."""
FINDINGS: dict[str, tuple[Claim, ...]] = {
    "Input feeding hurts": (Claim("soft", "soft-feed"), Claim("hard", "hard-feed")),
    "Hard attention beats soft attention": (Claim("hard", "soft"),),
    "Non-monotonic beats monotonic": (Claim("soft", "monotonic"), Claim("hard", "monotonic")),
    "Exact marginalisation beats REINFORCE": (Claim("hard", "hard-sampled"),),
    "Parameters, not input feeding, explain its success": (
        Claim("soft-feed-large", "soft-feed"),
        Claim("soft", "soft-feed"),
    ),
}
"""The paper's five findings, as claims that runs can decide."""


# The record


def read_record(path: Path) -> list[Result]:
    """Return the results of a record.

    Raises:
        InputError: If a line is damaged.
    """
    results = []
    for place, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            results.append(_result(json.loads(line)))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"is not a result: {error!r}", file=str(path), line=place) from error
    return results


def add_to_record(path: Path, results: Iterable[Result]) -> None:
    """Add results to a record, or replace those of the same runs."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    rows = {_result(row).run.name: row for row in map(json.loads, lines)}
    for result in results:
        run = as_corpus(result.run)
        if run.files is None:
            rows[run.name] = _row(replace(result, run=run))
        else:
            print(f"{run.name}: is on files of one's own, and not recorded", file=sys.stderr)
    text = "".join(json.dumps(rows[name]) + "\n" for name in sorted(rows))
    write_bytes(path, text.encode())


def as_corpus(run: Run) -> Run:
    """Return a run on NEWS files named like EnBa, with dev as test, as one on news15/EnBa."""
    name, files = f"news15/{run.corpus}", run.files
    if files is None or name not in registry() or files.dev != files.test:
        return run
    return replace(run, corpus=name, overrides={**run.overrides, "hold_out": False}, files=None)


def _row(result: Result) -> dict[str, Any]:
    return {
        **{name: value for name, value in asdict(result.run).items() if name != "files"},
        "metrics": {name: round(value, 6) for name, value in result.metrics.items()},
        "epochs": result.epochs,
        "seconds": round(result.seconds),
        "parameters": result.parameters,
        "items": result.sources,
        "correct": base64.b64encode(np.packbits(result.correct).tobytes()).decode(),
        "sources_sha256": result.sources_sha256,
        "version": result.version,
    }


def _result(row: dict[str, Any]) -> Result:
    packed = np.frombuffer(base64.b64decode(row["correct"]), dtype=np.uint8)
    return Result(
        Run(row["corpus"], row["system"], row["size"], row["seed"], row["overrides"]),
        row["metrics"],
        parameters=row["parameters"],
        epochs=row["epochs"],
        seconds=row["seconds"],
        sources=row["items"],
        correct=np.unpackbits(packed)[: row["items"]].tolist(),
        sources_sha256=row["sources_sha256"],
        version=row["version"],
    )


# The tables


def main_table(cells: Cells, arguments: Row) -> list[Row]:
    """Return the paper's and our means by task and system, over the same data sets."""
    (size,) = arguments
    head = ["task", "system", "paper's", "data sets", "", "paper", "ours", "difference"]
    table = [[*head, f"within {NEAR}"], []]
    everywhere: dict[str, list[list[tuple[float, float]]]] = {}
    for task in TASK_NAMES.values():
        metric, corpora = METRICS[task][0], paper_corpora(task)
        groups = {c: cells[s] for c in corpora if (s := Setting(c, size)) in cells}
        for system in in_order({name for systems in groups.values() for name in systems}):
            pairs = [
                (figure, statistics.fmean(groups[corpus][system].values(metric).values()))
                for corpus in groups
                if system in groups[corpus]
                and (figure := published(corpus, size, system, metric)) is not None
            ]
            if pairs:
                table.append(_mean_row(TASKS[task], system, len(corpora), metric.name, pairs))
                if metric is WER:
                    pairs = [(100 - paper, 100 - ours) for paper, ours in pairs]
                everywhere.setdefault(system, []).append(pairs)
    total = sum(len(paper_corpora(task)) for task in TASK_NAMES.values())
    for system, tasks in everywhere.items():
        if len(tasks) == len(TASK_NAMES):
            every = list(chain.from_iterable(tasks))
            table.append(_mean_row("All data sets", system, total, "ACC", every))
    return table


def _mean_row(
    title: str, system: str, corpora: int, metric: str, pairs: list[tuple[float, float]]
) -> Row:
    """Return the row of a system from the paper's figure and ours for each data set."""
    paper, ours = (statistics.fmean(column) for column in zip(*pairs, strict=True))
    near = sum(abs(one - other) <= NEAR for one, other in pairs)
    return [
        *(title, f"`{system}`", paper_name(system) or MISSING, f"{len(pairs)} of {corpora}"),
        *(metric, number(paper, 1), number(ours, 1), number(ours - paper, 1, sign=True)),
        f"{near} of {len(pairs)}",
    ]


def findings(cells: Cells, _arguments: Row) -> str:
    """Return what the runs say about each finding."""
    return "".join(
        f"{index}. {_finding(title, claims, cells)}\n"
        for index, (title, claims) in enumerate(FINDINGS.items(), start=1)
    )


def _finding(title: str, claims: Iterable[Claim], cells: Cells) -> str:
    sentences, verdicts = [], set()
    for better, worse in claims:
        mine, theirs = [], []
        for corpus, systems in _small(cells, {better, worse}).items():
            metric = METRICS[task_of(corpus)][0]
            figures = [published(corpus, "small", name, metric) for name in (better, worse)]
            sign = -1 if metric is WER else 1
            if figures[0] is not None and figures[1] is not None:
                mine.append(round(systems[better].accuracy - systems[worse].accuracy, 4))
                theirs.append(sign * (figures[0] - figures[1]))
        if not mine:
            sentences.append(f"`{better}` and `{worse}` have no runs on the same data set.")
            verdicts.add("open")
            continue
        p, mean = wilcoxon(mine), statistics.fmean(mine)
        verdict = "open" if p >= LEVEL else "supported" if mean > 0 else "contradicted"
        verdicts.add(verdict + " so far" * (verdict != "open" and len(mine) < DATA_SETS))
        paper = f"the paper: {number(statistics.fmean(theirs), 2, sign=True)} on the same"
        sentences.append(f"{_compared(better, worse, mine)}; {paper}).")
    verdict = verdicts.pop() if len(verdicts) == 1 else "decided in part"
    return f"**{title}: {verdict}.** {' '.join(sentences)}"


def _compared(better: str, worse: str, differences: list[float]) -> str:
    """Return how much better one system is than another; the bracket is left open."""
    wins, n = sum(one > 0 for one in differences), len(differences)
    mean = number(statistics.fmean(differences), 2, sign=True)
    return (
        f"`{better}` is better than `{worse}` on {wins} of {n} data set{'s' * (n > 1)}, by {mean} "
        f"points in the mean (p = {wilcoxon(differences):.2g}"
    )


def wilcoxon(differences: list[float]) -> float:
    """Return p of the two-sided exact Wilcoxon signed-rank test; zeros are left out."""
    values = np.round([value for value in differences if round(value, 9) != 0], 9)
    sizes = np.abs(values)
    # Twice the mean rank of ties, so that ranks are integers.
    ranks = [int((sizes < size).sum() + (sizes <= size).sum()) + 1 for size in sizes]
    counts = np.ones(1)  # of all assignments of signs, by the sum of the positive ranks
    for rank in ranks:
        counts = np.pad(counts, (0, rank)) + np.pad(counts, (rank, 0))
    positive = sum(rank for rank, value in zip(ranks, values, strict=True) if value > 0)
    smaller = min(positive, sum(ranks) - positive)
    return min(1.0, float(2 * counts[: smaller + 1].sum() / counts.sum()))


def paired(cells: Cells, names: Row) -> str:
    """Return how the first system compares with the others by the recipe ``auto``."""
    first, *others = names
    lines = []
    for other in others:
        differences = [
            round(systems[first].accuracy - systems[other].accuracy, 4)
            for setting, systems in cells.items()
            if _is_auto(setting) and {first, other} <= systems.keys()
        ]
        line = f"{_compared(first, other, differences)})." if differences else MISSING
        lines.append(f"- {line}\n")
    return "".join(lines)


def _is_auto(setting: Setting) -> bool:
    """Whether runs use the recipe ``auto`` without other options."""
    return "recipe" in set(re.findall(r"(\w+)=", setting.overrides)) <= AUTO


def _small(cells: Cells, names: set[str]) -> dict[str, dict[str, Cell]]:
    """Return the paper's corpora on which all these systems have runs by the same recipe."""
    found = {}
    for corpus in (corpus for task in TASK_NAMES.values() for corpus in paper_corpora(task)):
        for overrides in ("", HONEST):
            systems = cells.get(Setting(corpus, "small", overrides), {})
            if names <= systems.keys() and corpus not in found:
                found[corpus] = systems
    return found


def beyond_table(cells: Cells, _arguments: Row) -> list[Row]:
    """Return published figures beside ours by the recipe ``auto``."""
    head = ["task", "system", "year", "data sets", "mean", "parameters", "minutes each"]
    table = [head, []]
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        later = list(csv.DictReader(file))
    groups = {task: (TASKS[task], paper_corpora(task)) for task in TASK_NAMES.values()}
    for name, (title, languages) in SHARED_TASKS.items():
        start = "sigmorphon" + name.split()[1] + "-g2p/"
        groups[name] = title, [start + language for language in languages.split()]
    for group, (title, corpora) in groups.items():
        metric = METRICS[task_of(corpora[0])][0]
        best, name = _best_of_paper(metric, corpora)
        if best is not None:
            row = [title, f"the paper's best, {name}", "2018", str(len(corpora))]
            table.append([*row, f"{metric.name} {number(best, 1)}", "", ""])
        for one in (one for one in later if one["task"] == group):
            row = [title, f"{one['system']} [{one['source']}]", one["year"], one["data sets"]]
            table.append([*row, f"{one['metric']} {one['value']}", "", ""])
        ours: dict[tuple[str, str, str], list[tuple[str, Cell]]] = {}
        for setting, systems in cells.items():
            if setting.corpus in corpora and _is_auto(setting):
                for system, cell in systems.items():
                    found = re.search(r"members=(\d+)", setting.overrides)
                    key = system, setting.size, f", {found[1]} members" if found else ""
                    ours.setdefault(key, []).append((setting.corpus, cell))
        for (name, size, members), runs in sorted(ours.items(), key=_size_first):
            figures = [statistics.fmean(cell.values(metric).values()) for _, cell in runs]
            same, _ = _best_of_paper(metric, [corpus for corpus, _ in runs])
            row = [title, f"**`{name}`, {size}{members}**", "", f"{len(runs)} of {len(corpora)}"]
            mean = f"**{metric.name} {number(statistics.fmean(figures), 2)}**"
            if len(runs) < len(corpora) and same is not None:
                mean += f" (the paper's best {number(same, 1)})"
            results = [result for _, cell in runs for result in cell.results]
            minutes = statistics.fmean(result.seconds / 60 for result in results)
            parameters = statistics.fmean(result.parameters for result in results)
            table.append([*row, mean, f"{parameters / 1e6:.1f} M", number(minutes, 0)])
    return table


def _size_first(item: tuple[tuple[str, str, str], Any]) -> tuple[bool, str, str]:
    (name, size, members), _ = item
    return size != "small", name, members


def _best_of_paper(metric: Metric, corpora: list[str]) -> tuple[float | None, str]:
    """Return the best mean of the paper's systems over some data sets, and its system."""
    means = []
    for size in SIZES:
        for system in ("soft-feed", "soft-feed-large", "soft", "hard", "hard-sampled", "monotonic"):
            figures = [published(corpus, size, system, metric) for corpus in corpora]
            known = [figure for figure in figures if figure is not None]
            if known:
                means.append((statistics.fmean(known), f"`{system}` {size}"))
    if not means:
        return None, ""
    return min(means) if metric is WER else max(means)


def rows(cells: Cells, arguments: Row) -> list[Row]:
    """Return every run of a task, by the paper's recipe or by others."""
    task, papers = TASK_NAMES[arguments[0]], arguments[1] == "paper"
    metrics = METRICS[task]
    figures = [column for metric in metrics for column in (metric.name, "paper")]
    head = ["data", "size", "system", "paper's", *figures, "seeds", "parameters", "epochs"]
    head += ["minutes"] if papers else ["minutes", "recipe"]
    table = [head, []]
    for setting in (s for s in cells if s.task == task and s.is_the_papers == papers):
        for system, cell in cells[setting].items():
            row = [_short(setting.corpus), setting.size, f"`{system}`", paper_name(system) or ""]
            for metric in metrics:
                row.append(with_deviation(*average([cell], metric), metric.decimals))
                paper = published(setting.corpus, setting.size, system, metric)
                row.append(number(paper, metric.decimals) if paper is not None else "")
            results = cell.results
            epochs = statistics.fmean(result.epochs for result in results)
            minutes = statistics.fmean(result.seconds / 60 for result in results)
            row += [str(len(results)), f"{results[0].parameters:,}"]
            row += [number(epochs, 0), number(minutes, 0)]
            table.append(row if papers else [*row, setting.overrides])
    return table


def written(text: str, cells: Cells) -> str:
    """Return a page with its blocks filled from the cells."""

    def block(match: re.Match[str]) -> str:
        begin, kind, arguments, end = match.groups()
        content = BLOCKS[kind](cells, arguments.split())
        return begin + (content if isinstance(content, str) else _table(content)) + end

    return _BLOCK.sub(block, text)


def systems(cells: Cells, corpora: Row) -> list[Row]:
    """Return a row for each system of size small, a column for each corpus, the best in bold."""
    found = {corpus: _plain(cells, corpus) for corpus in corpora}
    head = [f"{_short(corpus)} {METRICS[task_of(corpus)][0].name}" for corpus in corpora]
    names = in_order({system for cells in found.values() for system in cells})
    return [["", *head], []] + [
        [f"`{system}`", *(_best(found[corpus], system, corpus) for corpus in corpora)]
        for system in names
    ]


def across(cells: Cells, corpora: Row) -> list[Row]:
    """Return the systems of one corpus side by side, the paper's figures above ours."""
    (corpus,) = corpora
    mine, metric = _plain(cells, corpus), METRICS[task_of(corpus)][0]
    theirs = [published(corpus, "small", system, metric) for system in mine]
    return [
        ["", *(f"`{system}`" for system in mine)],
        [],
        ["paper", *("" if one is None else number(one, metric.decimals) for one in theirs)],
        ["hardalign", *(_best(mine, system, corpus) for system in mine)],
    ]


BLOCKS: dict[str, Callable[[Cells, Row], list[Row] | str]] = {
    "table": main_table,
    "findings": findings,
    "beyond": beyond_table,
    "paired": paired,
    "rows": rows,
    "systems": systems,
    "across": across,
}


def _plain(cells: Cells, corpus: str) -> dict[str, Cell]:
    """Return the runs of size small by the paper's recipe, however NEWS was stopped."""
    honest = cells.get(Setting(corpus, "small", HONEST), {})
    found = honest | cells.get(Setting(corpus, "small"), {})
    return {system: found[system] for system in in_order(found)}


def _best(cells: dict[str, Cell], system: str, corpus: str) -> str:
    """Return a figure, in bold if no system has a better one."""
    if system not in cells:
        return ""
    metric = METRICS[task_of(corpus)][0]
    text = with_deviation(*average([cells[system]], metric), metric.decimals)
    best = max(round(cell.accuracy, 1) for cell in cells.values())
    return f"**{text}**" if round(cells[system].accuracy, 1) == best else text


def _table(table: list[Row]) -> str:
    if len(table) < 3:
        return "No runs yet.\n"
    lines = (f"| {' | '.join(row)} |" if row else "|---" * len(table[0]) + "|" for row in table)
    return "".join(f"{line}\n" for line in lines)


def _short(corpus: str) -> str:
    name = corpus.rpartition("/")[2]
    return name if name != name.lower() else name.capitalize()


def save_figure(path: Path, cells: Cells) -> None:
    """Plot runs by the paper's recipe against its figures, if there are any."""
    style: dict[Any, Any] = {"svg.fonttype": "path", "svg.hashsalt": "hardalign", "font.size": 9}
    with mpl.rc_context(style):
        figure = draw_paper({s: systems for s, systems in cells.items() if not s.overrides})
        if figure is not None:
            with whole_file(path) as file:
                figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight")


def published_accuracy(corpus: str, size: str, system: str) -> float | None:
    """Return the paper's accuracy in per cent, 100 - WER where it gives that, or None."""
    metric = METRICS[task_of(corpus)][0]
    value = published(corpus, size, system, metric)
    return 100 - value if value is not None and metric is WER else value


def draw_paper(cells: Cells) -> Figure | None:
    """Plot our accuracy against the paper's, a panel per task, a dot per data set and system."""
    points = [
        (setting, system, paper, cell.accuracy)
        for setting, systems in cells.items()
        for system, cell in systems.items()
        if (paper := published_accuracy(setting.corpus, setting.size, system)) is not None
    ]
    tasks = list(dict.fromkeys(setting.task for setting, *_ in points))
    if not tasks:
        return None
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


def main(folders: Iterable[Path]) -> None:
    """Add the runs of folders to the record, and rewrite the pages."""
    for folder in folders:
        add_to_record(RECORD, read_results(folder))
    cells = collect(read_record(RECORD))
    for path in PAGES:
        path.write_text(written(path.read_text("utf-8"), cells), "utf-8")
    save_figure(DOCS / "against-paper.svg", cells)


if __name__ == "__main__":
    main(map(Path, sys.argv[1:]))
