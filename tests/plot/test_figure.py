from __future__ import annotations

import struct
import sys
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest

from hardalign.errors import HardalignError
from hardalign.plot.figure import MANY, save_figure
from hardalign.plot.panel import Panel


def panel(rows: str, columns: str, title: str = "hard: posterior") -> Panel:
    weights = np.random.default_rng(0).random((len(rows), len(columns)))
    return Panel(title, tuple(rows), tuple(columns), weights)


def test_svg(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    assert save_figure(path, [panel("xy", "ab<$c$"), panel("z", "Жض")]) is None
    root = ElementTree.fromstring(path.read_bytes())
    assert root.tag.endswith("svg")
    # Labels are outlines; matplotlib writes their text into comments.
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    comments = [
        unescape((node.text or "").strip())
        for node in ElementTree.fromstring(path.read_bytes(), parser).iter()
        if node.tag is ElementTree.Comment
    ]
    for label in ("x", "y", "a", "b", "<", "$", "c", "z", "Ж", "ض", "hard", "posterior"):
        assert label in comments


def test_png(tmp_path: Path) -> None:
    small, large = tmp_path / "small.PNG", tmp_path / "large.png"
    save_figure(small, [panel("xy", "abc")])
    save_figure(large, [panel("xy" * 10, "abc" * 10)])
    sizes = []
    for path in (small, large):
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        assert content.endswith(b"IEND\xaeB`\x82")
        sizes.append(struct.unpack(">II", content[16:24]))
    assert sizes[0][0] < sizes[1][0] < 1500
    assert sizes[0][1] < sizes[1][1] < 1000


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    names = ("svg.hashsalt", "svg.fonttype", "text.parse_math")  # reading all would import pyplot
    settings = [mpl.rcParams[name] for name in names]
    known = "matplotlib.pyplot" in sys.modules
    for name in ("a", "b"):
        for suffix in ("svg", "png"):
            save_figure(tmp_path / f"{name}.{suffix}", [panel("xy", "ab")])
    for suffix in ("svg", "png"):
        first, second = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in "ab")
        assert first == second
    assert [mpl.rcParams[name] for name in names] == settings
    assert ("matplotlib.pyplot" in sys.modules) == known


def test_long_words_fit(tmp_path: Path) -> None:
    path = tmp_path / "long.svg"
    side = int(MANY**0.5) + 1
    save_figure(path, [panel("x" * side, "a" * side)])
    content = path.read_text(encoding="utf-8")
    assert "<image" in content
    assert content.count("<path") < side  # not one for each cell


def test_a_missing_glyph_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    report = save_figure(path, [panel("x", "a\U00080000")])
    assert report is not None
    assert "U+80000" in report
    assert path.exists()


@pytest.mark.parametrize("name", ["a.pdf", "a", "a.svgz"])
def test_other_kinds_of_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match=r"\.svg or \.png"):
        save_figure(tmp_path / name, [panel("x", "a")])
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(HardalignError, match=r"pip install .*\[plot\]"):
        save_figure(tmp_path / "a.svg", [panel("x", "a")])


def test_unwritable(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="cannot be written"):
        save_figure(tmp_path / "none" / "a.svg", [panel("x", "a")])
