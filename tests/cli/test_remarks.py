from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from hardalign.cli import remarks
from hardalign.cli.remarks import Remarks, best_predictions
from hardalign.data.formats import FORMATS, Example
from hardalign.predictor import load
from hardalign.search import Prediction, Search
from helpers import Command, write_model
from text.fakes import FakePredictor

CUT_OFF = "2 predictions were cut off at 4 times the length of the source (first: 'ab')"
UNWRITABLE = (
    "2 references have symbols that the model has never seen in a target, and cannot write "
    "(first: 'ab'): 'q' × 3"
)


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    return write_model(tmp_path / "endless", end=-1e4)


@pytest.mark.parametrize("name", ["evaluate", "errors", "analyze"])
def test_what_cannot_be_ended_or_written_is_told(
    name: str, command: Command, endless: Path
) -> None:
    result = command(name, endless, "-", stdin=b"ab\tAq\nab\tqq\nc\tC\n")
    assert result.code == 0, result.err
    assert result.err.splitlines()[:2] == [f"hardalign: {CUT_OFF}", f"hardalign: {UNWRITABLE}"]


def test_each_model_is_named(command: Command, endless: Path, tmp_path: Path) -> None:
    other = shutil.copytree(endless, tmp_path / "other")
    result = command("compare", endless, other, "-", stdin=b"ab\tAq\nab\tqq\nc\tC\n")
    assert result.err.splitlines() == [
        f"hardalign: {model}: {remark}"
        for model in (endless, other)
        for remark in (CUT_OFF, UNWRITABLE)
    ]


def test_nothing_is_told_where_all_is_well(command: Command, tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", end=10.0)
    for name in ("evaluate", "errors", "analyze"):
        assert command(name, model, "-", stdin=b"ab\tA\n").err == ""


def test_a_drawn_prediction_that_was_cut_off(command: Command, endless: Path) -> None:
    result = command("plot", endless, "ab")
    assert "cut off at 4 times the length of the source" in result.err
    assert command("plot", endless, "ab", "AB").err == ""


def test_tags_that_are_missing(command: Command, tmp_path: Path) -> None:
    examples = [Example(("a", "b"), (("A",),), ("N", "V"))]
    model = write_model(tmp_path / "model", examples=examples, layout=FORMATS["sigmorphon"])
    result = command("predict", model, "-", stdin=b"ab\t\nab\tN\n\n")
    assert result.code == 0, result.err
    assert "1 source has no tags, but the model was trained with tags" in result.err
    assert "no tags" not in command("predict", model, "-", stdin=b"ab\tN;V\n").err


def test_letters_that_produced_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The fake aligns the k-th symbol with the k-th letter; some answers are too short."""
    seen = Remarks(FakePredictor(), 1, None)
    for word, length in [("abcd", 4), ("abcdef", 3), ("abcdef", 4)]:
        alpha = np.eye(length + 1, len(word) + 2, 1)
        seen.see([Prediction(word, "", tuple(word[:length].upper()), 0.0, alpha=alpha)])
    seen.report()
    expected = "3 letters or more in a row produced nothing in 1 word: 'def' in 'abcdef'"
    assert capsys.readouterr().err == f"hardalign: {expected}\n"


def test_only_suspects_are_held_and_without_their_alphas(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[list[Prediction]] = []

    def skipped(_: object, found: list[Prediction]) -> list[tuple[str, list[str]]]:
        held.append(list(found))
        return [(one.source, ["bcd"]) for one in found]

    monkeypatch.setattr(remarks, "ALIGNED_AT_ONCE", 4)
    monkeypatch.setattr(remarks, "skipped_letters", skipped)
    seen = Remarks(FakePredictor(), 1, None)
    for word in ["abcdef", "ab"] * 30:
        alpha = np.eye(2, len(word) + 2, 1)
        seen.see([Prediction(word, "A", ("A",), -1.0, alpha=alpha)])
    assert [len(found) for found in held] == [4] * 7
    assert all(one.source == "abcdef" and not one.alpha.size for found in held for one in found)
    assert len(seen._skipped) == 8  # and no more are named
    seen.report()


def test_alphas_are_not_held(tmp_path: Path) -> None:
    predictor = load(write_model(tmp_path / "model", end=10.0))
    items = [Example(("a", "b"), (("A",),), text="ab")]
    (without,) = best_predictions(predictor, items, Search(), 1)
    (whole,) = best_predictions(predictor, items, Search(), 1, alphas=True)
    assert (without.symbols, without.log_prob) == (whole.symbols, whole.log_prob)
    assert whole.alpha.size
    assert not without.alpha.size
