from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from experiments.helpers import result, right, write
from hardalign.errors import HardalignError
from hardalign.experiments.paper import TASKS
from hardalign.experiments.report import COLOURS, MARKERS, draw_paper, save_figures, write_report
from hardalign.experiments.run import Run, prepare, write_failure
from hardalign.experiments.tables import collect
from hardalign.systems import SYSTEMS


def text_of(folder: Path) -> str:
    return (folder / "report" / "report.md").read_text(encoding="utf-8")


def test_report(tmp_path: Path) -> None:
    write(
        tmp_path,
        *(result(seed=seed, correct=right(72 + seed)) for seed in (0, 1)),
        result(system="soft", correct=right(50)),
        result("g2p/CMUDict"),
        result("toy:copy"),
    )
    paths = write_report(tmp_path)
    assert [path.name for path in paths] == ["report.md", "against-paper.svg"]
    text = text_of(tmp_path)
    assert "Runs: 5 complete, 0 failed, 0 unfinished." in text
    assert "| mean of 2 of 2 | hard | 4 | 1 | 29.6 | 26.2 | -3.4 |" in text
    assert "| toy:copy | hard | 4 | 1 | – | 75.0 | – |" in text
    assert "| soft |  | -22.5\\* |" in text
    assert "(against-paper.svg)" in text
    assert "1,133 of its 11,121 distinct test words" in text
    # A second report is of the same runs, not of the first report, to the byte.
    first = {path: path.read_bytes() for path in paths}
    assert {path: path.read_bytes() for path in write_report(tmp_path)} == first


def test_failed_and_unfinished_runs_are_told(tmp_path: Path) -> None:
    failed, unfinished = Run("g2p/NETtalk", "hard"), Run("g2p/NETtalk", "soft")
    for run in (failed, unfinished):
        prepare(tmp_path, run)
    write_failure(tmp_path / failed.name, "out of memory_\n<b>")
    write_report(tmp_path)
    text = text_of(tmp_path)
    assert "Runs: 0 complete, 1 failed, 1 unfinished." in text
    assert "- failed: g2p-NETtalk.hard.small.0: out of memory\\_ \\<b\\> (attempt 1)" in text


def test_data_of_ones_own(tmp_path: Path) -> None:
    write(tmp_path, *(result("mine", system=name, correct=right(50)) for name in ("hard", "soft")))
    assert [path.name for path in write_report(tmp_path)] == ["report.md"]
    text = text_of(tmp_path)
    assert "mean of" not in text
    assert "| mine | soft |" in text


def test_no_folder_and_no_runs(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="no such folder"):
        write_report(tmp_path / "nowhere")
    with pytest.raises(HardalignError, match="has no runs"):
        write_report(tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write(tmp_path, result())
    assert [path.name for path in write_report(tmp_path)] == ["report.md"]
    assert "[plot]" in text_of(tmp_path)


def test_a_figure_of_the_papers_recipe(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    assert save_figures(tmp_path, collect([result(epochs=1)])) == []
    assert list(tmp_path.iterdir()) == []
    saved = save_figures(tmp_path, collect([result()]))
    assert saved is not None
    assert ElementTree.fromstring(saved[0].read_bytes()).tag.endswith("svg")
    assert dict(mpl.rcParams) == before


def test_a_point_for_each_system_and_data_set() -> None:
    cells = collect(
        [
            result(correct=right(72)),
            result(system="hard-hmm"),
            result("conll2017/danish", "soft", correct=right(91)),
            result("conll2017/danish", "soft", "large", correct=right(85)),
        ]
    )
    figure = draw_paper(cells)
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
    assert draw_paper({}) is None
    assert draw_paper(collect([result("toy:copy"), result(system="hard-hmm")])) is None


def test_looks_tell_systems_apart() -> None:
    looks = {(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i in range(len(SYSTEMS))}
    assert len(looks) == len(SYSTEMS)
