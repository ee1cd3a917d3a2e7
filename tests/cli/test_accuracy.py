"""Temperatures, ensembles and warm starts at the command line."""

from __future__ import annotations

import json
from pathlib import Path

from helpers import Command, assert_complains


def test_an_ensemble_is_a_model_like_any_other(
    command: Command, pairs: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "two"
    options = ("train", pairs, "--dev", pairs, "--out", folder, "--epochs", 1, "--members", 2)
    result = command(*options, "--set", "processes=1")
    assert result.code == 0, result.err
    assert "an ensemble of 2 models" in result.err
    info = command("info", folder).out
    assert "members     2: hard" in info
    assert "temperature " in info
    assert len(command("predict", folder, pairs).out.splitlines()) == 6
    assert len(command("score", folder, pairs).out.splitlines()) == 6
    assert len(command("align", folder, pairs).out.splitlines()) == 6
    figures = json.loads(command("evaluate", folder, pairs, "--json").out)
    assert 0 <= figures["ece"] <= 1
    assert_complains(command("export", folder, tmp_path / "x.onnx"), folder, "is an ensemble")


def test_a_temperature_changes_scores_and_not_predictions(
    command: Command, model: Path, pairs: Path
) -> None:
    hot, plain = (
        [line.split("\t") for line in command("predict", model, pairs, *options).out.splitlines()]
        for options in (("--scores", "--temperature", 9), ("--scores",))
    )
    assert [row[:2] for row in hot] == [row[:2] for row in plain]
    assert all(one[2] != other[2] for one, other in zip(hot, plain, strict=True))
    once = command("predict", model, pairs, "--scores", "--temperature", 1)
    assert [line.split("\t") for line in once.out.splitlines()] == plain
    assert "temperature 9 |" in command("evaluate", model, pairs, "--temperature", 9).out
    assert_complains(command("predict", model, pairs, "--temperature", 0), "invalid temperature 0")


def test_training_begins_with_a_model(
    command: Command, model: Path, pairs: Path, tmp_path: Path
) -> None:
    options = ("train", pairs, "--dev", pairs, "--epochs", 0, "--from", model)
    assert command(*options, "--system", "hard", "--out", tmp_path / "new").code == 0
    assert f"began with  {model.name} sha256:" in command("info", tmp_path / "new").out
    other = command(*options, "--system", "soft", "--out", tmp_path / "other")
    assert_complains(other, model, "its system is hard", "not soft")
    assert not (tmp_path / "other").exists()
