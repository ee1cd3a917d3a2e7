"""The tables and pictures of results in the documents, made from the runs' figures: `make results`.

    python docs/results.py [RUNS…]

Adds the complete runs of each folder RUNS (of `hardalign reproduce --out`) to the record
docs/results/runs.jsonl, and writes what stands between `<!-- results:… -->` and `<!-- end -->` in
the documents anew, and the pictures accuracy.svg and against-paper.svg. A test fails where a table
and the record disagree.

The record has a line of JSON per run and no weights. Which items a run had right is kept as bits,
so that runs can still be compared item by item.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from hardalign.errors import InputError
from hardalign.experiments.paper import METRICS, in_order, paper_name, published
from hardalign.experiments.report import save_figures
from hardalign.experiments.run import Result, Run, read_results
from hardalign.experiments.tables import Cell, Cells, Setting, average, collect
from hardalign.files import write_bytes
from hardalign.table import MISSING, number, with_deviation

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "results" / "runs.jsonl"
PAGES = [ROOT / name for name in ("README.md", "docs/results.md", "docs/reference/systems.md")]
_BLOCK = re.compile(r"(<!-- results:(\S+)((?: \S+)*) -->\n).*?(<!-- end -->)", re.DOTALL)

HONEST = "hold_out=true"

Row = list[str]


def read_record(path: Path) -> list[Result]:
    """Returns the results of a file's runs; what a row does not know is 0 or empty.

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
    """Add results to a file, or put them in the place of those of the same runs."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    rows = {_result(row).run.name: row for row in map(json.loads, lines)}
    rows |= {result.run.name: _row(result) for result in results}
    text = "".join(json.dumps(rows[name]) + "\n" for name in sorted(rows))
    write_bytes(path, text.encode())


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
    metrics = {"wer": 100 - row["metrics"]["acc"], **row["metrics"]}
    packed = np.frombuffer(base64.b64decode(row.get("correct", "")), dtype=np.uint8)
    return Result(
        Run(row["corpus"], row["system"], row["size"], row["seed"], row.get("overrides", {})),
        metrics,
        parameters=row.get("parameters", 0),
        epochs=row.get("epochs", 0),
        seconds=row.get("seconds", 0.0),
        sources=row.get("items", 0),
        correct=np.unpackbits(packed)[: row.get("items", 0)].tolist(),
        sources_sha256=row.get("sources_sha256", ""),
        version=row["version"],
    )


def written(text: str, cells: Cells) -> str:
    """Returns a document with its tables as the cells have them."""

    def block(match: re.Match[str]) -> str:
        begin, kind, arguments, end = match.groups()
        table = BLOCKS[kind](cells, arguments.split())
        lines = (f"| {' | '.join(row)} |" if row else "|---" * len(table[0]) + "|" for row in table)
        return begin + "".join(f"{line}\n" for line in lines) + end

    return _BLOCK.sub(block, text)


def runs(cells: Cells, corpora: Row) -> list[Row]:
    """Every run by the paper's recipe on some corpora, the paper's figures beside."""
    metrics = METRICS[Setting(corpora[0], "small").task]
    figures = [column for metric in metrics for column in (metric.name, "paper")]
    table = [
        ["data", "size", "system", "paper's", *figures, "seeds", "parameters", "epochs", "minutes"],
        [],
    ]
    for setting in (
        one for one in cells if one.corpus in corpora and one.overrides in ("", HONEST)
    ):
        for system, cell in cells[setting].items():
            row = [_short(setting.corpus), setting.size, f"`{system}`", paper_name(system) or ""]
            for metric in metrics:
                row.append(with_deviation(*average([cell], metric), metric.decimals))
                paper = published(setting.corpus, setting.size, system, metric)
                row.append(number(paper, metric.decimals) if paper is not None else "")
            parameters = max(result.parameters for result in cell.results)
            row += [str(len(cell.results)), f"{parameters:,}" if parameters else MISSING]
            epochs = [result.epochs for result in cell.results if result.epochs]
            seconds = [result.seconds for result in cell.results if result.seconds]
            row += [_mean(epochs), _mean([one / 60 for one in seconds])]
            table.append(row)
    return table


def options(cells: Cells, corpora: Row) -> list[Row]:
    """Runs with options beside those of the same systems by the paper's recipe."""
    table = [["data", "size", "system", "options", "figure", "seeds", "epochs"], []]
    for corpus in corpora:
        metric = METRICS[Setting(corpus, "small").task][0]
        settings = [one for one in cells if one.corpus == corpus]
        chosen = {(one.size, name) for one in settings if one.overrides for name in cells[one]}
        for setting in sorted(settings, key=lambda one: (one.size == "large", one.overrides)):
            names = {name for size, name in chosen if size == setting.size}
            for system in in_order(names & cells[setting].keys()):
                cell = cells[setting][system]
                figure = with_deviation(*average([cell], metric), metric.decimals)
                epochs = [result.epochs for result in cell.results if result.epochs]
                row = [_short(corpus), setting.size, f"`{system}`"]
                row += [setting.overrides or "the paper's recipe"]
                row += [f"{metric.name} {figure}", str(len(cell.results)), _mean(epochs)]
                table.append(row)
    return table


def systems(cells: Cells, corpora: Row) -> list[Row]:
    """A row for each system of size small, a column for each corpus, the best in bold."""
    found = {corpus: _plain(cells, corpus) for corpus in corpora}
    names = in_order({system for cells in found.values() for system in cells})
    metrics = {corpus: METRICS[Setting(corpus, "small").task][0] for corpus in corpora}
    head = [f"{_short(corpus)} {metrics[corpus].name}" for corpus in corpora]
    return [["", *head], []] + [
        [f"`{system}`", *(_best(found[corpus], system, corpus) for corpus in corpora)]
        for system in names
    ]


def across(cells: Cells, corpora: Row) -> list[Row]:
    """The same for one corpus, systems side by side, the paper's figures above ours."""
    (corpus,) = corpora
    mine = _plain(cells, corpus)
    metric = METRICS[Setting(corpus, "small").task][0]
    theirs = [published(corpus, "small", system, metric) for system in mine]
    return [
        ["", *(f"`{system}`" for system in mine)],
        [],
        ["paper", *("" if one is None else number(one, metric.decimals) for one in theirs)],
        ["hardalign", *(_best(mine, system, corpus) for system in mine)],
    ]


BLOCKS: dict[str, Callable[[Cells, Row], list[Row]]] = {
    "runs": runs,
    "options": options,
    "systems": systems,
    "across": across,
}


def _best(cells: dict[str, Cell], system: str, corpus: str) -> str:
    """A figure, in bold if no system has a better one."""
    if system not in cells:
        return ""
    metric = METRICS[Setting(corpus, "small").task][0]
    text = with_deviation(*average([cells[system]], metric), metric.decimals)
    best = max(round(cell.accuracy, 1) for cell in cells.values())
    return f"**{text}**" if round(cells[system].accuracy, 1) == best else text


def _plain(cells: Cells, corpus: str) -> dict[str, Cell]:
    """The runs of size small by the paper's recipe; NEWS with a tenth held out."""
    overrides = HONEST if corpus.startswith("news15/") else ""
    return cells.get(Setting(corpus, "small", overrides), {})


def _mean(values: list[float] | list[int]) -> str:
    return f"{sum(values) / len(values):.0f}" if values else MISSING


def _short(corpus: str) -> str:
    name = corpus.rpartition("/")[2]
    return name if name != name.lower() else name.capitalize()


if __name__ == "__main__":
    for folder in map(Path, sys.argv[1:]):
        add_to_record(RECORD, read_results(folder))
    all_cells = collect(read_record(RECORD))
    for page in PAGES:
        page.write_text(written(page.read_text("utf-8"), all_cells), "utf-8")
    save_figures(ROOT / "docs", all_cells)
