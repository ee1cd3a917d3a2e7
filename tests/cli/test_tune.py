from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.helpers import Scripted
from hardalign.cli.engines import EngineOptions
from hardalign.experiments.plan import load_plan
from hardalign.runs import RESULT, Run, read_failures
from helpers import Command, assert_complains


def score(run: Run) -> list[float]:
    return [run.overrides["dropout"] - run.overrides["encoder"]]


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> list[Scripted]:
    """Engines without processes; tests/experiments has those with some."""
    opened = []

    def open_(_: EngineOptions, folder: Path) -> Scripted:
        opened.append(Scripted(folder, score=score))
        return opened[-1]

    monkeypatch.setattr(EngineOptions, "open", open_)
    return opened


def test_best_first(command: Command, scripted: list[Scripted], tmp_path: Path) -> None:
    options: tuple[Any, ...] = ("tune", "--corpus", "toy:copy", "--words", 60, "--out", tmp_path)
    result = command(*options, "--trials", 6)
    assert result.code == 0, result.err
    values = [float(line.split("\t")[0]) for line in result.out.splitlines()]
    assert values == sorted(values, reverse=True)
    assert len(values) == 6
    assert "encoder=" in result.out
    assert "words=" not in result.out
    (best,) = load_plan(str(tmp_path / "best.toml"))
    assert score(best)[0] == pytest.approx(values[0])
    assert (tmp_path / best.name / RESULT).exists()  # so reproduce would not repeat it
    again = command(*options, "--trials", 6)
    assert again.out == result.out
    assert scripted[-1].started == []


def test_files_of_ones_own(command: Command, scripted: list[Scripted], tmp_path: Path) -> None:
    for name in ("train", "dev"):
        (tmp_path / name).write_text("cat\tK AE T\n")
    files = (tmp_path / "train", "--dev", tmp_path / "dev", "--format", "lexicon")
    reading = ("--source-case", "lower", "--normalization", "NFD", "--target-parts")
    result = command("tune", *files, *reading, "--trials", 2, "--out", tmp_path / "out")
    assert result.code == 0, result.err
    (best,) = load_plan(str(tmp_path / "out" / "best.toml"))
    assert best in scripted[0].started
    assert best.files is not None
    assert best.files.format == "lexicon"
    assert best.files.layout.source_case == "lower"
    assert best.overrides["normalization"] == "NFD"
    assert best.overrides["target_parts"] is True
    assert best.files.test == best.files.dev == str(tmp_path / "dev")


def test_why_a_trial_failed(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def open_(_: EngineOptions, folder: Path) -> Scripted:
        return Scripted(folder, outcome=lambda run: "failed")

    monkeypatch.setattr(EngineOptions, "open", open_)
    result = command("tune", "--corpus", "toy:copy", "--trials", 1, "--out", tmp_path)
    assert result.code == 1
    (failure,) = read_failures(tmp_path)
    *_, reason, count = result.err.splitlines()
    assert f"{failure.run.name}: {failure.error}" in reason
    assert count.endswith("1 failed")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--corpus", "toy:cpoy"), ["toy:copy"]),
        ((), ["--dev FILE", "--corpus NAME"]),
        (("none.tsv",), ["--dev FILE"]),
        (("none.tsv", "--dev", "none.tsv"), ["none.tsv: cannot be read"]),
        (("none.tsv", "--corpus", "toy:copy"), ["not both"]),
        (("--corpus", "toy:copy", "--columns", "source"), ["--normalization alone"]),
        (("--corpus", "toy:copy", "--trials", 0), ["--trials"]),
        (("--corpus", "toy:copy", "--epochs", 0), ["--epochs"]),
        (("--corpus", "toy:copy", "--system", "sotf"), ["'sotf'"]),
    ],
)
def test_wrong_usage(
    options: tuple[Any, ...], words: list[str], command: Command, tmp_path: Path
) -> None:
    assert_complains(command("tune", *options, "--out", tmp_path / "out"), *words)
    assert not (tmp_path / "out").exists()
