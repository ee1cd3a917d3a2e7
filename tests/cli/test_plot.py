from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hardalign.data.formats import FORMATS, Example
from helpers import Command, assert_complains, write_model


def test_draws_a_row_per_symbol(command: Command, model: Path) -> None:
    lines = command("plot", model, "abc", "CA").out.splitlines()
    assert lines[0] == "abc → CA  (hard: posterior p(a_i = j | x, y))"
    assert lines[1].split() == ["⊢", "a", "b", "c", "⊣"]
    assert [line[0] for line in lines[2:]] == ["C", "A", "⊣"]


def test_draws_the_prediction(command: Command, model: Path) -> None:
    predicted = command("predict", model, stdin=b"abc\n").out.rstrip("\n").split("\t")[1]
    assert command("plot", model, "abc").out.startswith(f"abc → {predicted}  (")


def test_two_models(command: Command, model: Path, tmp_path: Path) -> None:
    lines = command("plot", model, "abc", "CA", "--beside", model).out.splitlines()
    assert lines[:5] == lines[5:]
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    assert command("plot", model, "abc", "CA", "--output", one).out == ""
    command("plot", model, "abc", "CA", "--beside", model, "--output", two)
    widths = [float(ElementTree.parse(path).getroot().get("width", "")[:-2]) for path in (one, two)]
    assert 1.5 * widths[0] < widths[1]


def test_writes_pictures(command: Command, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    result = command("plot", model, "abc", "--output", path)
    assert (result.code, result.out, result.err) == (0, "", "")
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("always")
def test_missing_glyphs_are_told(command: Command, model: Path, tmp_path: Path) -> None:
    result = command("plot", model, "a\U00080000", "A", "--output", tmp_path / "a.svg")
    assert result.code == 0
    unknown, missing, *_ = result.err.splitlines()
    assert "never seen" in unknown
    assert "Glyph 524288" in missing


@pytest.mark.filterwarnings("always")
def test_unknown_source_symbols_are_told_once(command: Command, model: Path) -> None:
    result = command("plot", model, "aq")
    assert result.code == 0
    assert result.err.count("never seen") == 1


def test_no_picture(
    command: Command, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_complains(command("plot", model, "abc", "--output", tmp_path / "a.gif"), ".png or .pdf")
    assert_complains(command("plot", model, "abc", "--output", "/proc/none.svg"), "/proc/none.svg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert_complains(command("plot", model, "abc", "--output", tmp_path / "a.svg"), "[plot]")


def test_unknown_target_symbol(command: Command, model: Path) -> None:
    assert_complains(command("plot", model, "abc", "CZ"), "'Z'", "never seen")


def test_tags(command: Command, tmp_path: Path) -> None:
    examples = [Example(("a", "b"), (("A",),), ("N", "V"))]
    model = write_model(tmp_path / "model", examples=examples, layout=FORMATS["sigmorphon"])
    assert_complains(command("plot", model, "ab"), "give them with --tags")
    result = command("plot", model, "ab", "A", "--tags", "N;V")
    assert result.out.splitlines()[1].split() == ["⊢", "N", "V", "a", "b", "⊣"]
    assert result.out == command("plot", model, "ab\tN;V", "A").out


def test_a_run(command: Command, model: Path) -> None:
    assert_complains(command("plot", model), "metrics.jsonl")
    metrics = [{"epoch": k, "loss": 3.0 - k, "learning_rate": 0.1} for k in range(3)]
    (model / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in metrics))
    loss, rate = command("plot", model).out.splitlines()
    assert loss.split() == ["loss", "3", "█▅▁", "1"]
    assert rate.startswith("learning rate")
    for option in ("--tags", "--output"):
        assert_complains(command("plot", model, option, "a.pdf"), "need a source")
    (model / "metrics.jsonl").write_text("{")
    assert_complains(command("plot", model), "line 1")
