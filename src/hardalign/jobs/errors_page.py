"""A report of errors as one self-contained page: no scripts, light and dark, wide and narrow."""

from __future__ import annotations

from html import escape

from hardalign.data.example import Symbols
from hardalign.jobs.errors import Confusion, ErrorReport, Outcome
from hardalign.jobs.errors_text import Section, Spell, common, percentage, sections
from hardalign.plot.panel import label

SHOWN = 30
"""Confusions on the page."""
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --ground: #fff; --line: #d1d9e0;
  --bar: #8db6e2; --bad: #b4231a; --good: #116329; --cell: #f3f5f8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --soft: #9aa4af; --ground: #14181d;
  --line: #363e47; --bar: #2f5d8f; --bad: #ff9d94; --good: #7fd191; --cell: #20262d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1, p.note { overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.2; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p.note, caption, .soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } th { text-align: left; font-weight: 600; }
td, th { padding: .2rem .75rem .2rem 0; vertical-align: top; }
tbody tr { border-top: 1px solid var(--line); } td.n, th.n { text-align: right; }
.wide { width: 100%; }
.bar { display: block; height: .6rem; margin-top: .45rem; min-width: 1px; background: var(--bar);
  border-radius: 2px; }
details { border-top: 1px solid var(--line); padding: .35rem 0; }
summary { cursor: pointer; } summary b { font-weight: 600; }
summary .count { float: right; color: var(--soft); }
.aligned { margin: .5rem 0 1rem; font-size: .9rem; }
.aligned caption { text-align: left; } .aligned tr { border: 0; }
.aligned td { text-align: center; padding: .1rem .4rem; background: var(--cell);
  border: 2px solid var(--ground); min-width: 1.6rem; height: 1.9rem; }
.aligned th { font-weight: 400; color: var(--soft); padding-right: .5rem; }
td.n { white-space: nowrap; }
@media (max-width: 40rem) { td, th { padding-right: .5rem; font-size: .85rem; }
  td.wide { display: none; } }
.bad { color: var(--bad); font-weight: 600; } .good { color: var(--good); font-weight: 600; }
"""


def page(report: ErrorReport, spell: Spell, title: str, signature: str) -> str:
    """Writes a report as a page; ``signature`` says at its foot what it was computed from."""
    share = percentage(report.wrong, report.n)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p><b>{report.wrong}</b> of {report.n} items are wrong ({share}), in "
        f"{report.slips} symbols that are wrong, missing or added.</p>",
        "<h2>Commonest confusions</h2>",
        '<p class="note">Open one to see words with their alignments: which symbols each letter '
        "became, and which it should have become.</p>",
        *(_confusion(confusion, report) for confusion in report.confusions[:SHOWN]),
        *(_table(section) for section in sections(report, spell) if section.rows),
        f'<p class="note">{escape(signature)}</p>',
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _confusion(confusion: Confusion, report: ErrorReport) -> str:
    count, most = confusion.count, report.confusions[0].count
    origins = {"from": confusion.letters, "in": confusion.contexts, "with": confusion.tags}
    body = "".join(
        f"<p>{_text(f'{word} {common(counts, 5)}')}</p>"
        for word, counts in origins.items()
        if counts
    )
    body += "".join(map(_aligned, confusion.words))
    return (
        f'<details><summary><b>{_text(str(confusion.slip))}</b><span class="count">{count} · '
        f'{percentage(count, report.slips)}</span><span class="bar" '
        f'style="width:{100 * count / most:.1f}%"></span></summary>{body}</details>'
    )


def _aligned(outcome: Outcome) -> str:
    """Draws an error: source symbols, what each became, and what it should have become."""
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


def aligned_rows(outcome: Outcome) -> tuple[list[str], list[str], list[str]]:
    """Returns the columns of an error's source, and what each wrote and should have written.

    Columns of begin, tags and end are there only if something came from them.
    """
    predicted = _by_column(outcome.predicted, outcome.predicted_from)
    expected = _by_column(outcome.expected, outcome.expected_from)
    shown = sorted({*outcome.letters, *predicted, *expected})
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
    """Escapes text of any script, whose direction stays its own."""
    return f"<bdi>{escape(text)}</bdi>"
