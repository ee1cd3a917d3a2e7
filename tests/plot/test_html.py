from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from hardalign.plot.html import draw_html
from hardalign.plot.panel import Panel


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
