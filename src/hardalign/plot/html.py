"""Heat maps for notebooks: a plain HTML table, which needs no other library."""

from __future__ import annotations

from html import escape

from hardalign.plot.panel import Panel, label

_CELL = "padding:2px 6px;text-align:center"
_HUE = "8,81,156"  # the dark end of the colours of the pictures


def draw_html(panel: Panel) -> str:
    """A heat map as an HTML table; pointing at a cell shows its weight."""
    heads = "".join(f'<th style="{_CELL}">{_shown(text)}</th>' for text in panel.columns)
    lines = [f"<tr><th></th>{heads}</tr>"]
    for text, row in zip(panel.rows, panel.weights, strict=True):
        cells = "".join(map(_cell, row))
        lines.append(f'<tr><th style="{_CELL}">{_shown(text)}</th>{cells}</tr>')
    body = "\n".join(lines)
    return f"<table>\n<caption>{escape(panel.title)}</caption>\n{body}\n</table>"


def _cell(weight: float) -> str:
    return f'<td title="{weight:.3f}" style="background:rgba({_HUE},{weight:.3f})"></td>'


def _shown(symbol: str) -> str:
    return f'<bdi dir="auto">{escape(label(symbol))}</bdi>'
