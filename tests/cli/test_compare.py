from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from helpers import Command, assert_complains
from text.fakes import random_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return random_model(tmp_path / "model")


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardalign.cli.main.COMMANDS", ("compare",))


@pytest.fixture
def other(model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "other"))


def test_side_by_side(command: Command, model: Path, other: Path, pairs: Path) -> None:
    result = command("compare", model, other, pairs)
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == [str(model), str(other)]
    assert "+0.00 points [+0.00, +0.00], p = 1.0000, may be chance" in result.out
    assert f"{pairs} | n=6 distinct sources | greedy" in lines[-1]
    piped = command("compare", model, other, "-", stdin=pairs.read_bytes())
    assert piped.out.splitlines()[-1].startswith("standard input | n=6 ")


def test_json(command: Command, model: Path, other: Path, pairs: Path) -> None:
    content = json.loads(command("compare", model, other, pairs, "--json").out)
    assert content["n"] == 6
    assert len(content["models"]) == 2
    assert content["alone"] == {str(model): [], str(other): []}


def test_bad_input(command: Command, model: Path, pairs: Path) -> None:
    assert_complains(command("compare", model, pairs), "two models")
    assert_complains(command("compare"), "two models")
    assert_complains(command("compare", model, model, pairs), "twice")
    assert_complains(command("compare", model, "en-g2p", pairs, "--words", -1), "--words", "-1")
    assert_complains(command("compare", "en-g2p", model, pairs), "en-g2p", model, "symbols")
    assert_complains(command("compare", model, "/no/model", pairs), "/no/model")
