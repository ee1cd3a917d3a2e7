"""A report of errors for the terminal and for spreadsheets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hardalign.data.example import Symbols
from hardalign.data.text import many
from hardalign.jobs.errors import ErrorReport
from hardalign.report.markup import Table

SHOWN = 20
"""Confusions in the terminal report."""
Spell = Callable[[Symbols], str]


class Section(NamedTuple):
    """One table of a report; it is shown if it has rows."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    numbers: int
    """How many columns, from the left, hold numbers."""
    bars: list[float] = []  # noqa: RUF012 - never changed
    """A percentage to draw beside each row."""


def sections(report: ErrorReport, spell: Spell) -> Iterator[Section]:
    """Yields the tables that follow the confusions, on a terminal and on a page."""
    for title, groups in (
        ("By length of the source", report.lengths),
        ("By confidence (probability of the prediction)", report.confidence),
        ("By tag", report.tags),
    ):
        rows = [[name, str(g.n), str(g.wrong), f"{g.share:.1f}%"] for name, g in groups.items()]
        bars = [group.share for group in groups.values()]
        yield Section(title, ["", "items", "wrong", "share"], rows, 4, bars)
    for title, outcomes in (
        ("Most confident errors", report.sure_wrong),
        ("Least confident right answers", report.unsure_right),
    ):
        rows = [
            [f"{probability:.3f}", source.text, spell(predicted), spell(expected)]
            for source, predicted, expected, probability, *_ in outcomes
        ]
        yield Section(title, ["p", "source", "prediction", "reference"], rows, 1)
    rows = [
        [f"{log_prob:.2f}", str(pair.line or ""), pair.text, spell(pair.targets[0])]
        for pair, log_prob in report.doubts
    ]
    title = "Least probable pairs of the file: errors in the data?"
    yield Section(title, ["log p", "line", "source", "target"], rows, 2)


def terminal_report(report: ErrorReport, spell: Spell) -> str:
    """Writes a report to be read in a terminal; ``spell`` writes symbols as the model's format."""
    rows = [
        [
            str(confusion.slip),
            str(confusion.count),
            percentage(confusion.count, report.slips),
            common(confusion.letters, 3),
            ", ".join(word.example.text for word in confusion.words[:3]),
        ]
        for confusion in report.confusions[:SHOWN]
    ]
    heads = ["", "count", "share", "from", "words"]
    lines = [
        f"{many(report.n, 'item', 'items')}, {report.wrong} wrong "
        f"({percentage(report.wrong, report.n)}), "
        f"{many(report.slips, 'symbol', 'symbols')} wrong, missing or added"
    ]
    for section in (Section("Commonest confusions", heads, rows, 0), *sections(report, spell)):
        if section.rows:
            cells = [tuple(row) for row in section.rows]
            table = Table(section.title, tuple(section.heads), cells, texts=len(section.heads))
            lines += ["", section.title, *(f"  {line}" for line in table.text()[:-1].split("\n"))]
    return "\n".join(lines)


def tsv_rows(report: ErrorReport, spell: Spell) -> Iterator[list[str]]:
    """Yields the whole report as rows of a table: section, then what that section has."""
    yield ["section", "name", "count", "of", "share", "from", "context", "tags", "words"]
    for confusion in report.confusions:
        origins = confusion.letters, confusion.contexts, confusion.tags
        yield [
            confusion.slip.kind,
            str(confusion.slip),
            *_counts(confusion.count, report.slips),
            *(common(counts, 5) for counts in origins),
            ", ".join(word.example.text for word in confusion.words),
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
        for source, predicted, expected, probability, *_ in outcomes:
            strings = source.text, spell(predicted), spell(expected)
            yield [section, *strings, f"{probability:.6f}"]
    for pair, log_prob in report.doubts:
        strings = pair.text, spell(pair.targets[0]), str(pair.line or "")
        yield ["improbable pair", *strings, f"{log_prob:.6f}"]


def percentage(count: int, total: int) -> str:
    """Writes a share, also of nothing."""
    return f"{100 * count / max(1, total):.1f}%"


def common(counts: Counter[str], most: int) -> str:
    """Names the commonest, with their counts."""
    shown = ", ".join(f"{name} × {count}" for name, count in counts.most_common(most))
    return shown + (", …" if len(counts) > most else "")


def _counts(count: int, total: int) -> list[str]:
    return [str(count), str(total), f"{count / max(1, total):.6f}"]
