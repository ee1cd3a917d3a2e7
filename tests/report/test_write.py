from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from hardalign.errors import HardalignError
from hardalign.files import write_json
from hardalign.report.write import write_report
from hardalign.runs import FAILURE, Run, write_run
from report.synthetic import result, right, write


def text_of(folder: Path) -> str:
    return (folder / "report" / "report.md").read_text(encoding="utf-8")


def test_report(tmp_path: Path) -> None:
    write(
        tmp_path,
        *(result(seed=seed, correct=right(72 + seed)) for seed in (0, 1)),
        result(system="soft", correct=right(50)),
        result("toy:copy"),
    )
    paths = write_report(tmp_path)
    names = "report.md results.csv significance.csv tables.tex accuracy.svg against-paper.svg"
    assert paths == [tmp_path / "report" / name for name in names.split()]
    assert all(path.stat().st_size for path in paths)
    text = text_of(tmp_path)
    assert "Runs: 4 complete, 0 failed, 0 unfinished." in text
    assert "| 2. Hard attention beats soft attention | too few seeds |" in text
    assert "| hard | 4 | 1 of 2 | 29.6 | 28.8 | 27.5 ± 0.7 | -1.3 |" in text
    assert "| toy:copy | hard | 4 | 1 | – | 75.0 | – |" in text
    assert "| soft |  | -22.5\\* |" in text
    assert "![Accuracy by system and size](accuracy.svg)" in text
    latex = (tmp_path / "report" / "tables.tex").read_text(encoding="utf-8")
    assert latex.count(r"\begin{longtable}") == text.count("\n| --- |")  # every table is in both
    with (tmp_path / "report" / "significance.csv").open(encoding="utf-8", newline="") as file:
        assert [row["corpus"] for row in csv.DictReader(file)] == ["g2p/NETtalk"]


def test_failed_and_unfinished_runs_are_told(tmp_path: Path) -> None:
    failed, unfinished = Run("g2p/NETtalk", "hard"), Run("g2p/NETtalk", "soft")
    for run in (failed, unfinished):
        (tmp_path / run.name).mkdir()
        write_run(tmp_path / run.name, run)
    failure = {"error": "out of memory_\n<b>", "traceback": None, "attempt": 3}
    write_json(tmp_path / failed.name / FAILURE, failure)
    write_report(tmp_path)
    text = text_of(tmp_path)
    assert "Runs: 0 complete, 1 failed, 1 unfinished." in text
    assert "- g2p-NETtalk.hard.small.0: out of memory\\_ \\<b\\> (attempt 3)" in text
    assert text.count(": no runs at hand\n") == 5


def test_remarks_stand_beside_the_figures(tmp_path: Path) -> None:
    write(tmp_path, result("g2p/CMUDict"))
    write_report(tmp_path)
    assert "1,133 of its 11,121 distinct test words" in text_of(tmp_path)


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write(tmp_path, result())
    assert [path.suffix for path in write_report(tmp_path)] == [".md", ".csv", ".csv", ".tex"]
    assert "[plot]" in text_of(tmp_path)


def test_again(tmp_path: Path) -> None:
    """A second report is of the same runs, not of the first report, to the byte."""
    write(tmp_path, result(), result(system="soft"))
    first = {path: path.read_bytes() for path in write_report(tmp_path)}
    assert {path: path.read_bytes() for path in write_report(tmp_path)} == first


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="no such folder"):
        write_report(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_runs_on_data_of_ones_own_say_nothing_of_the_paper(tmp_path: Path) -> None:
    write(tmp_path, *(result("mine", system=name, correct=right(50)) for name in ("hard", "soft")))
    write_report(tmp_path)
    text = text_of(tmp_path)
    assert text.startswith("# Results\n\nRuns: 2 complete")
    assert "The five findings" not in text
    assert "What is missing" not in text
    assert "| mine | soft |" in text


def test_a_folder_without_runs(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="has no runs"):
        write_report(tmp_path)
    assert not list(tmp_path.iterdir())
