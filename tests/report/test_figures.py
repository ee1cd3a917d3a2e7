from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from hardalign.report.cells import collect
from hardalign.report.figures import (
    COLOURS,
    MARKERS,
    draw_accuracy,
    draw_against_paper,
    save_figures,
    system_label,
)
from hardalign.report.paper import TASKS
from hardalign.systems import SYSTEMS
from report.synthetic import result, right

CELLS = collect(
    [
        result(correct=right(70)),
        result(seed=1, correct=right(72)),
        result(system="soft", correct=right(69)),
        result("g2p/CMUDict", correct=right(10)),
        result(size="large", correct=right(73)),
        result(system="hard-hmm", size="large", correct=right(74)),
    ]
)


def test_means_are_over_data_sets_that_all_systems_have() -> None:
    figure = draw_accuracy(CELLS)
    assert figure is not None
    (ax,) = figure.axes
    assert "small: 1 of 2 data sets\nlarge: 1 of 1 data sets" in ax.get_title()
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "soft (3)",
        "hard (4)",
        "hard-hmm",
    ]
    marks = {
        (line.get_label(), round(line.get_ydata()[0])): line.get_xdata()[0]
        for line in ax.lines
        if line.get_marker() == "o"
    }
    assert marks == pytest.approx(
        {
            ("small, ours", 0): 69,
            ("small, ours", 1): 71,  # without CMUDict, which soft has no run of
            ("small, the paper's", 0): 70.2,
            ("small, the paper's", 1): 71.2,
            ("large, ours", 1): 73,
            ("large, ours", 2): 74,
            ("large, the paper's", 1): 100 - 26.6,
        }
    )
    spread = next(
        line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_ydata()[0] > 0.5
    )
    assert list(spread.get_xdata()) == pytest.approx([71 - 2**0.5, 71 + 2**0.5])


def test_files(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    saved = save_figures(tmp_path, CELLS)
    assert saved is not None
    assert [path.name for path in saved] == ["accuracy.svg", "against-paper.svg"]
    contents = [path.read_bytes() for path in saved]
    assert all(ElementTree.fromstring(content).tag.endswith("svg") for content in contents)
    save_figures(tmp_path, CELLS)
    assert [path.read_bytes() for path in saved] == contents
    assert dict(mpl.rcParams) == before


def test_other_recipes_are_not_drawn(tmp_path: Path) -> None:
    assert save_figures(tmp_path, collect([result(epochs=1)])) == {}
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert save_figures(tmp_path, CELLS) is None


def test_a_point_for_each_system_and_data_set() -> None:
    cells = collect(
        [
            result(correct=right(72)),
            result(system="hard-hmm"),
            result("conll2017/danish", "soft", correct=right(91)),
            result("conll2017/danish", "soft", "large", correct=right(85)),
        ]
    )
    figure = draw_against_paper(cells)
    assert figure is not None
    titles = {ax.get_title(): ax for ax in figure.axes}
    assert list(titles) == [TASKS["grapheme to phoneme"], TASKS["inflection"]]
    g2p, inflection = titles.values()
    diagonal, hard = g2p.lines
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata())
    assert (*hard.get_xdata(), *hard.get_ydata()) == pytest.approx((71.2, 72))
    _, small, large = inflection.lines
    assert small.get_markerfacecolor() == small.get_color()
    assert large.get_markerfacecolor() == "none"
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["hard (4)", "soft (3)", "soft (3), large"]


def test_nothing_to_draw() -> None:
    assert draw_against_paper({}) is None
    assert draw_against_paper(collect([result("toy:copy"), result(system="hard-hmm")])) is None


def test_looks_tell_systems_apart() -> None:
    looks = {
        (COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i in range(2 * len(SYSTEMS))
    }
    assert len(looks) == 2 * len(SYSTEMS)
    assert (system_label("hard"), system_label("hard-hmm")) == ("hard (4)", "hard-hmm")
