from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from rich.cells import cell_len

from hardalign.plot.panel import Panel, draw_html, draw_text, label


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [("a", "a"), (" ", "␣"), ("\u0301", "◌\u0301"), ("\u093e", "◌\u093e"), ("AE1", "AE1")],
)
def test_labels_can_stand_alone(symbol: str, shown: str) -> None:
    assert label(symbol) == shown


def test_shades_follow_the_weights() -> None:
    drawn = draw_text(Panel("", "x", "abcde", np.array([[0, 0.25, 0.5, 0.75, 1.0]])))
    assert drawn.splitlines()[1] == "x    ░░ ▒▒ ▓▓ ██"


def test_wide_and_combining_symbols_keep_their_columns() -> None:
    drawn = draw_text(Panel("", ["한", "\u0301"], ["語", "abc", "q"], np.eye(3)[1:]))
    header, first, second = drawn.splitlines()
    assert cell_len(header[: header.index("q")]) == cell_len(second[: second.index("█")])
    assert cell_len(header[: header.index("abc")]) == cell_len(first[: first.index("█")])


def test_symbols_are_text_not_markup() -> None:
    panel = Panel("<b> & co", ["<s>", "&"], ["</table>", '"', "a"], np.eye(3)[:2])
    table = ElementTree.fromstring(draw_html(panel))  # as XML it must be well formed
    assert table.findtext("caption") == "<b> & co"
    rows = [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]
    assert rows[0] == ["", "</table>", '"', "a"]
    assert [row[0] for row in rows[1:]] == ["<s>", "&"]


def test_cells_are_as_dark_as_their_weight() -> None:
    drawn = draw_html(Panel("", ["x"], ["a", "b"], np.array([[0.25, 0.75]])))
    assert drawn.index("0.250)") < drawn.index("0.750)")
    assert 'title="0.250"' in drawn
