"""An error report as text for the terminal, as TSV, and as one self-contained HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from html import escape
from importlib.resources import files
from string import Template
from typing import NamedTuple

from hardalign.data.text import Symbols, plural
from hardalign.plot import label
from hardalign.table import Table
from hardalign.text.errors import Confusion, ErrorReport, Outcome

IN_TERMINAL, ON_PAGE = 20, 30
"""Confusions shown."""
Spell = Callable[[Symbols], str]
"""Joins symbols as the model's format does."""


class Section(NamedTuple):
    """A table of the report, shown if it has rows."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    numbers: int
    """Number columns, from the left."""
    bars: list[float] = []  # noqa: RUF012 - never changed
    """A percentage to draw beside each row."""


def terminal_report(report: ErrorReport, spell: Spell) -> str:
    """Format a report for the terminal."""
    rows = [
        [
            str(confusion.slip),
            str(confusion.count),
            _percentage(confusion.count, report.slips),
            _common(confusion.letters, 3),
            ", ".join(word.example.text for word in confusion.words[:3]),
        ]
        for confusion in report.confusions[:IN_TERMINAL]
    ]
    heads = ["", "count", "share", "from", "words"]
    lines = [
        f"{plural(report.n, 'item', 'items')}, {report.wrong} wrong "
        f"({_percentage(report.wrong, report.n)}), "
        f"{plural(report.slips, 'symbol', 'symbols')} wrong, missing or added"
    ]
    for section in (Section("Commonest confusions", heads, rows, 0), *_sections(report, spell)):
        if section.rows:
            cells = [tuple(row) for row in section.rows]
            table = Table(section.title, tuple(section.heads), cells, texts=len(section.heads))
            lines += ["", section.title, *(f"  {line}" for line in table.text()[:-1].split("\n"))]
    return "\n".join(lines)


def tsv_rows(report: ErrorReport, spell: Spell) -> Iterator[list[str]]:
    """Yield the whole report as rows; the first column names the section."""
    yield ["section", "name", "count", "of", "share", "from", "context", "tags", "words"]
    for confusion in report.confusions:
        origins = confusion.letters, confusion.contexts, confusion.tags
        yield [
            confusion.slip.kind,
            str(confusion.slip),
            *_counts(confusion.count, report.slips),
            *(_common(counts, 5) for counts in origins),
            ", ".join(word.example.text for word in confusion.words),
        ]
    for name, groups in (
        ("length", report.lengths),
        ("confidence", report.confidence),
        ("tag", report.tags),
    ):
        for key, group in groups.items():
            yield [name, key.strip(), *_counts(group.wrong, group.n)]
    for name, outcomes in (
        ("confident error", report.sure_wrong),
        ("unsure but right", report.unsure_right),
    ):
        for one in outcomes:
            strings = one.example.text, spell(one.predicted), spell(one.expected)
            yield [name, *strings, f"{one.probability:.6f}"]
    for pair, log_prob in report.doubts:
        strings = pair.text, spell(pair.targets[0]), str(pair.line or "")
        yield ["improbable pair", *strings, f"{log_prob:.6f}"]


def page(report: ErrorReport, spell: Spell, title: str, signature: str) -> str:
    """Format a report as a page without scripts; ``signature`` says what it was computed from."""
    template = Template((files(__package__) / "errors.html").read_text("utf-8"))
    share = _percentage(report.wrong, report.n)
    return template.substitute(
        title=escape(title),
        summary=f"<b>{report.wrong}</b> of {report.n} items are wrong ({share}), in "
        f"{report.slips} symbols that are wrong, missing or added.",
        confusions="\n".join(_confusion(one, report) for one in report.confusions[:ON_PAGE]),
        sections="\n".join(_table(one) for one in _sections(report, spell) if one.rows),
        signature=escape(signature),
    )


def aligned_rows(outcome: Outcome) -> tuple[list[str], list[str], list[str]]:
    """Return source symbols of an error, and what each became and should have become.

    Begin, tags and end are included only if something came from them.
    """
    predicted = _by_column(outcome.predicted, outcome.predicted_from)
    expected = _by_column(outcome.expected, outcome.expected_from)
    shown = sorted({*outcome.letters, *predicted, *expected})
    return (
        [outcome.columns[column] for column in shown],
        [predicted.get(column, "") for column in shown],
        [expected.get(column, "") for column in shown],
    )


def _sections(report: ErrorReport, spell: Spell) -> Iterator[Section]:
    """Yield the tables that follow the confusions."""
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
            [f"{o.probability:.3f}", o.example.text, spell(o.predicted), spell(o.expected)]
            for o in outcomes
        ]
        yield Section(title, ["p", "source", "prediction", "reference"], rows, 1)
    rows = [
        [f"{log_prob:.2f}", str(pair.line or ""), pair.text, spell(pair.targets[0])]
        for pair, log_prob in report.doubts
    ]
    title = "Least probable pairs of the file: errors in the data?"
    yield Section(title, ["log p", "line", "source", "target"], rows, 2)


def _confusion(confusion: Confusion, report: ErrorReport) -> str:
    count, most = confusion.count, report.confusions[0].count
    origins = {"from": confusion.letters, "in": confusion.contexts, "with": confusion.tags}
    body = "".join(
        f"<p>{_text(f'{word} {_common(counts, 5)}')}</p>"
        for word, counts in origins.items()
        if counts
    )
    body += "".join(map(_aligned, confusion.words))
    return (
        f'<details><summary><b>{_text(str(confusion.slip))}</b><span class="count">{count} · '
        f'{_percentage(count, report.slips)}</span><span class="bar" '
        f'style="width:{100 * count / most:.1f}%"></span></summary>{body}</details>'
    )


def _aligned(outcome: Outcome) -> str:
    """Show an error: source symbols, what each became, and what it should have become."""
    columns, predicted, expected = aligned_rows(outcome)
    heads = "".join(f"<td>{_text(label(symbol))}</td>" for symbol in columns)
    differ = [left != right for left, right in zip(predicted, expected, strict=True)]
    rows = "".join(
        f"<tr><th>{name}</th>"
        + "".join(
            f'<td class="{mark}">{_text(cell)}</td>' if bad else f"<td>{_text(cell)}</td>"
            for cell, bad in zip(cells, differ, strict=True)
        )
        + "</tr>"
        for name, cells, mark in (("predicted", predicted, "bad"), ("expected", expected, "good"))
    )
    caption = f"{_text(outcome.example.text)} · p = {outcome.probability:.3f}"
    return (
        f'<div class="scroll"><table class="aligned"><caption>{caption}</caption>'
        f"<tr><th></th>{heads}</tr>{rows}</table></div>"
    )


def _by_column(symbols: Symbols, origins: tuple[int, ...]) -> dict[int, str]:
    cells: dict[int, str] = {}
    for symbol, column in zip(symbols, origins, strict=False):
        cells[column] = f"{cells[column]} {symbol}" if column in cells else symbol
    return cells


def _table(section: Section) -> str:
    marks = [' class="n"' if k < section.numbers else "" for k in range(len(section.heads))]
    lines: list[str] = []
    for index, row in enumerate(section.rows):
        cells = [f"<td{mark}>{_text(cell)}</td>" for mark, cell in zip(marks, row, strict=True)]
        if section.bars:
            style = f"width:{section.bars[index]:.1f}%"
            cells.append(f'<td class="wide"><span class="bar" style="{style}"></span></td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    heads = zip(marks, section.heads, strict=True)
    top = "".join(f"<th{mark}>{escape(head)}</th>" for mark, head in heads)
    wide = "wide" if section.bars else ""
    return (
        f'<h2>{escape(section.title)}</h2><div class="scroll"><table class="{wide}">'
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _text(text: str) -> str:
    """Escape text of any script and isolate its direction."""
    return f"<bdi>{escape(text)}</bdi>"


def _percentage(count: int, total: int) -> str:
    return f"{100 * count / max(1, total):.1f}%"


def _common(counts: Counter[str], most: int) -> str:
    shown = ", ".join(f"{name} × {count}" for name, count in counts.most_common(most))
    return shown + (", …" if len(counts) > most else "")


def _counts(count: int, total: int) -> list[str]:
    return [str(count), str(total), f"{count / max(1, total):.6f}"]
