"""A report of errors for the terminal and for spreadsheets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from rich.cells import cell_len, set_cell_size

from hardalign.data.example import Symbols
from hardalign.jobs.errors import ErrorReport, Outcome

SHOWN = 20
"""Confusions in the terminal report."""
Spell = Callable[[Symbols], str]


def terminal_report(report: ErrorReport, spell: Spell) -> str:
    """Writes a report to be read in a terminal.

    Args:
        report: What was found.
        spell: Writes the symbols of a target as the model's format does.
    """
    lines = [
        f"{report.n} items, {report.wrong} wrong ({_share(report.wrong, report.n)}), "
        f"{report.slips} symbols wrong, missing or added"
    ]
    rows = [
        [
            str(one),
            str(one.count),
            _share(one.count, report.slips),
            common(one.letters, 3),
            ", ".join(word.example.text for word in one.words[:3]),
        ]
        for one in report.confusions[:SHOWN]
    ]
    lines += _table("Commonest confusions", ["", "count", "share", "from", "words"], rows)
    for title, groups in (
        ("By length of the source", report.lengths),
        ("By confidence (probability of the prediction)", report.confidence),
        ("By tag", report.tags),
    ):
        if groups:
            cells = [
                [name, str(g.n), str(g.wrong), f"{g.share:.1f}%"] for name, g in groups.items()
            ]
            lines += _table(title, ["", "items", "wrong", "share"], cells)
    for title, outcomes in (
        ("Most confident errors", report.sure_wrong),
        ("Least confident right answers", report.unsure_right),
    ):
        words = [
            [f"{one.probability:.3f}", one.example.text, spell(one.predicted), spell(one.expected)]
            for one in outcomes
        ]
        lines += _table(title, ["p", "source", "prediction", "reference"], words)
    doubts = [
        [
            f"{one.log_prob:.2f}",
            _line(one.example.line),
            one.example.text,
            spell(one.example.targets[0]),
        ]
        for one in report.doubts
    ]
    lines += _table(
        "Least probable pairs of the file: errors in the data?",
        ["log p", "line", "source", "target"],
        doubts,
    )
    return "\n".join(lines)


def tsv_rows(report: ErrorReport, spell: Spell) -> Iterator[list[str]]:
    """Yields the whole report as rows of a table: section, then what that section has."""
    yield ["section", "name", "count", "of", "share", "from", "context", "tags", "words"]
    for one in report.confusions:
        words = ", ".join(word.example.text for word in one.words)
        yield [
            one.kind,
            str(one),
            *_counts(one.count, report.slips),
            *(common(counts, 5) for counts in (one.letters, one.contexts, one.tags)),
            words,
        ]
    for section, groups in (
        ("length", report.lengths),
        ("confidence", report.confidence),
        ("tag", report.tags),
    ):
        for name, group in groups.items():
            yield [section, name.strip(), *_counts(group.wrong, group.n)]
    for section, outcomes in (
        ("confident error", report.sure_wrong),
        ("unsure but right", report.unsure_right),
    ):
        for item in outcomes:
            p = f"{item.probability:.6f}"
            yield [section, item.example.text, spell(item.predicted), spell(item.expected), p]
    for doubt in report.doubts:
        target = spell(doubt.example.targets[0])
        yield ["improbable pair", doubt.example.text, target, "", f"{doubt.log_prob:.6f}"]


def common(counts: Counter[str], most: int) -> str:
    """Names the commonest, with their counts."""
    shown = ", ".join(f"{name} × {count}" for name, count in counts.most_common(most))
    return shown + (", …" if len(counts) > most else "")


def aligned_rows(outcome: Outcome) -> tuple[list[str], list[str], list[str]]:
    """Returns the columns of an error's source, and what each wrote and should have written.

    Columns of begin, tags and end are there only if something came from them.
    """
    predicted, expected = (
        _by_column(symbols, origins)
        for symbols, origins in (
            (outcome.predicted, outcome.predicted_from),
            (outcome.expected, outcome.expected_from),
        )
    )
    first, last = 1 + len(outcome.example.tags), len(outcome.columns) - 1
    shown = [
        column
        for column in range(len(outcome.columns))
        if first <= column < last or column in predicted or column in expected
    ]
    return (
        [outcome.columns[column] for column in shown],
        [predicted.get(column, "") for column in shown],
        [expected.get(column, "") for column in shown],
    )


def _by_column(symbols: Symbols, origins: tuple[int, ...]) -> dict[int, str]:
    cells: dict[int, str] = {}
    for symbol, column in zip(symbols, origins, strict=False):
        cells[column] = f"{cells[column]} {symbol}" if column in cells else symbol
    return cells


def _counts(count: int, total: int) -> list[str]:
    return [str(count), str(total), f"{count / max(1, total):.6f}"]


def _share(count: int, total: int) -> str:
    return f"{100 * count / max(1, total):.1f}%"


def _line(number: int) -> str:
    return str(number) if number else ""


def _table(title: str, heads: list[str], rows: list[list[str]]) -> list[str]:
    if not rows:
        return []
    widths = [max(cell_len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]
    lines = ["", title]
    for row in [heads, *rows]:
        cells = (set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True))
        lines.append("  " + "  ".join(cells).rstrip())
    return lines
