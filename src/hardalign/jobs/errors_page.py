"""A report of errors as one self-contained page: no scripts, light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from hardalign.jobs.errors import Confusion, ErrorReport, Group, Outcome
from hardalign.jobs.errors_text import Spell, aligned_rows, common
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
    """Writes a report as a page.

    Args:
        report: What was found.
        spell: Writes the symbols of a target as the model's format does.
        title: What stands above.
        signature: What the report was computed from, for the foot.
    """
    share = 100 * report.wrong / max(1, report.n)
    most = max((one.count for one in report.confusions), default=1)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p><b>{report.wrong}</b> of {report.n} items are wrong ({share:.1f}%), in "
        f"{report.slips} symbols that are wrong, missing or added.</p>",
        "<h2>Commonest confusions</h2>",
        '<p class="note">Open one to see words with their alignments: which symbols each letter '
        "became, and which it should have become.</p>",
        *(_confusion(one, report.slips, most) for one in report.confusions[:SHOWN]),
        _groups("By length of the source", "symbols", report.lengths),
        _groups("By confidence", "probability", report.confidence),
        _groups("By tag", "tag", report.tags),
        _outcomes("Most confident errors", report.sure_wrong, spell),
        _outcomes("Least confident right answers", report.unsure_right, spell),
        _table(
            "Least probable pairs of the file",
            ["log p", "line", "source", "target"],
            (
                [
                    f"{one.log_prob:.2f}",
                    str(one.example.line or ""),
                    one.example.text,
                    spell(one.example.targets[0]),
                ]
                for one in report.doubts
            ),
            numbers=2,
            remark="Perhaps errors in the data.",
        ),
        f'<p class="note">{escape(signature)}</p>',
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )


def _confusion(one: Confusion, slips: int, most: int) -> str:
    share = 100 * one.count / max(1, slips)
    origins = [f"from {common(one.letters, 5)}"] if one.letters else []
    origins += [f"in {common(one.contexts, 5)}"] if one.contexts else []
    origins += [f"with {common(one.tags, 5)}"] if one.tags else []
    body = "".join(f"<p>{_text(origin)}</p>" for origin in origins)
    body += "".join(map(_aligned, one.words))
    return (
        f'<details><summary><b>{_text(str(one))}</b><span class="count">{one.count} · {share:.1f}%'
        f'</span><span class="bar" style="width:{100 * one.count / most:.1f}%"></span></summary>'
        f"{body}</details>"
    )


def _aligned(outcome: Outcome) -> str:
    """Draws an error: source symbols, what each became, and what it should have become."""
    columns, predicted, expected = aligned_rows(outcome)
    heads = "".join(f"<td>{_text(label(symbol))}</td>" for symbol in columns)
    differ = [one != other for one, other in zip(predicted, expected, strict=True)]
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


def _groups(title: str, what: str, groups: Mapping[str, Group]) -> str:
    rows = [
        [name.strip(), str(group.n), str(group.wrong), f"{group.share:.1f}%"]
        for name, group in groups.items()
    ]
    bars = [group.share for group in groups.values()]
    return _table(title, [what, "items", "wrong", "share"], rows, numbers=4, bars=bars)


def _outcomes(title: str, outcomes: Sequence[Outcome], spell: Spell) -> str:
    rows = (
        [f"{one.probability:.3f}", one.example.text, spell(one.predicted), spell(one.expected)]
        for one in outcomes
    )
    return _table(title, ["p", "source", "prediction", "reference"], rows, numbers=1)


def _table(
    title: str,
    heads: list[str],
    rows: Iterable[list[str]],
    *,
    numbers: int,
    bars: Sequence[float] = (),
    remark: str = "",
) -> str:
    """Draws a table whose first columns are numbers; nothing if it has no rows."""
    marks = [' class="n"' if k < numbers else "" for k in range(len(heads))]
    lines: list[str] = []
    for row in rows:
        cells = [f"<td{m}>{_text(cell)}</td>" for m, cell in zip(marks, row, strict=True)]
        if bars:
            width = bars[len(lines)]
            cells.append(
                f'<td class="wide"><span class="bar" style="width:{width:.1f}%"></span></td>'
            )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    if not lines:
        return ""
    top = "".join(f"<th{mark}>{escape(head)}</th>" for mark, head in zip(marks, heads, strict=True))
    note = f'<p class="note">{escape(remark)}</p>' if remark else ""
    return (
        f'<h2>{escape(title)}</h2>{note}<div class="scroll"><table class="{"wide" * bool(bars)}">'
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _text(text: str) -> str:
    """Escapes text of any script, whose direction stays its own."""
    return f"<bdi>{escape(text)}</bdi>"
