"""Heat maps, curves and tables, as files, HTML and text."""

from __future__ import annotations

import re
import struct
import sys
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hardalign.errors import HardalignError
from hardalign.plot import (
    MAX_VECTOR_CELLS,
    Panel,
    Table,
    curve_text,
    draw_html,
    draw_text,
    label,
    number,
    save_heat_maps,
    with_deviation,
)


def panel(rows: str, columns: str, title: str = "hard: posterior") -> Panel:
    weights = np.random.default_rng(0).random((len(rows), len(columns)))
    return Panel(title, tuple(rows), tuple(columns), weights)


def test_svg(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    save_heat_maps(path, [panel("xy", "ab<$c$"), panel("z", "Жض")])
    root = ElementTree.fromstring(path.read_bytes())
    assert root.tag.endswith("svg")
    # Labels are outlines; matplotlib writes their text into comments.
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    comments = [
        unescape((node.text or "").strip())
        for node in ElementTree.fromstring(path.read_bytes(), parser).iter()
        if node.tag is ElementTree.Comment
    ]
    for text in ("x", "y", "a", "b", "<", "$", "c", "z", "Ж", "ض", "hard", "posterior"):
        assert text in comments


def test_png(tmp_path: Path) -> None:
    small, large = tmp_path / "small.PNG", tmp_path / "large.png"
    save_heat_maps(small, [panel("xy", "abc")])
    save_heat_maps(large, [panel("xy" * 10, "abc" * 10)])
    sizes = []
    for path in (small, large):
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        assert content.endswith(b"IEND\xaeB`\x82")
        sizes.append(struct.unpack(">II", content[16:24]))
    assert sizes[0][0] < sizes[1][0] < 1500
    assert sizes[0][1] < sizes[1][1] < 1000


def test_pdf(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    save_heat_maps(path, [panel("xy", "abЖ")])
    assert path.read_bytes().startswith(b"%PDF-")
    assert path.read_bytes().rstrip().endswith(b"%%EOF")


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    names = ("svg.hashsalt", "svg.fonttype", "text.parse_math")  # reading all would import pyplot
    settings = [mpl.rcParams[name] for name in names]
    known = "matplotlib.pyplot" in sys.modules
    for name in ("a", "b"):
        for suffix in ("svg", "png", "pdf"):
            save_heat_maps(tmp_path / f"{name}.{suffix}", [panel("xy", "ab")])
    for suffix in ("svg", "png", "pdf"):
        first, second = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in "ab")
        assert first == second
    assert [mpl.rcParams[name] for name in names] == settings
    assert ("matplotlib.pyplot" in sys.modules) == known


def test_long_words_fit(tmp_path: Path) -> None:
    path = tmp_path / "long.svg"
    side = int(MAX_VECTOR_CELLS**0.5) + 1
    save_heat_maps(path, [panel("x" * side, "a" * side)])
    content = path.read_text(encoding="utf-8")
    assert "<image" in content
    assert content.count("<path") < side  # not one for each cell


def test_a_missing_glyph_is_told(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Glyph 524288 .* missing"):
        save_heat_maps(tmp_path / "a.png", [panel("x", "a\U00080000")])
    assert (tmp_path / "a.png").exists()


@pytest.mark.parametrize("text", ["abc", "Жук", "ɲʃ", "مرحبا"])
def test_what_matplotlib_brings(text: str, tmp_path: Path) -> None:
    save_heat_maps(tmp_path / "a.png", [panel(text, text)])
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["a.gif", "a", "a.svgz"])
def test_other_kinds_of_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match=r"\.svg, \.png or \.pdf"):
        save_heat_maps(tmp_path / name, [panel("x", "a")])
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(HardalignError, match=r"pip install .*\[plot\]"):
        save_heat_maps(tmp_path / "a.svg", [panel("x", "a")])


def test_unwritable(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="cannot be written"):
        save_heat_maps(tmp_path / "none" / "a.svg", [panel("x", "a")])


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [
        ("a", "a"),
        (" ", "␣"),
        ("\u0301", "◌\u0301"),
        ("\u093e", "◌\u093e"),
        ("AE1", "AE1"),
        ("\x1b[2J", r"\x1b[2J"),
    ],
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


EPOCHS = [
    {"epoch": k + 1, "loss": 4.0 - k, "dev_acc": 50.0 + k, "learning_rate": 0.001, "best": True}
    for k in range(4)
]


def test_curves_in_characters() -> None:
    loss, accuracy, rate = curve_text(EPOCHS).splitlines()
    assert loss.split() == ["loss", "4", "█▆▃▁", "1"]
    assert accuracy.split()[-3:] == ["50", "▁▃▆█", "53"]
    assert rate.split()[-2:] == ["▁▁▁▁", "0.001"]
    without_dev = [{**row, "dev_acc": None} for row in EPOCHS]
    assert len(curve_text(without_dev).splitlines()) == 2


@pytest.mark.parametrize("epochs", [[], [{"epoch": 1}]])
def test_no_curves(epochs: list[dict[str, Any]]) -> None:
    with pytest.raises(HardalignError, match="no epochs"):
        curve_text(epochs)


TABLE = Table("10% of a_b", ("System", "ACC"), [("hard|fast", "+0.5"), ("[a]", "–")])


def test_markdown() -> None:
    assert TABLE.markdown() == (
        "**10% of a\\_b**\n\n"
        "| System | ACC |\n"
        "| --- | ---: |\n"
        "| hard\\|fast | +0.5 |\n"
        "| \\[a\\] | – |\n"
    )


@given(st.text())
def test_no_cell_breaks_a_table(text: str) -> None:
    table = Table(text, (text, "b"), [(text, text)])
    for line in table.markdown().splitlines()[2:]:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3


def test_numbers() -> None:
    assert number(None, 1) == "–"
    assert number(-0.04, 1, sign=True) == "+0.0"
    assert number(0.0726, 3) == "0.073"
    assert with_deviation(70.04, 0.26, 1) == "70.0 ± 0.3"
    assert with_deviation(70.04, None, 1) == "70.0"
    assert with_deviation(None, None, 1) == "–"
