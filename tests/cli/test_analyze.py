from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import Command, assert_complains, write_model


def test_table_and_list_agree_with_json(command: Command, tmp_path: Path, pairs: Path) -> None:
    model = write_model(tmp_path / "model", end=-30.0)  # long strings, whose edges cross
    result = command("analyze", model, pairs, "--threshold", 0.01)
    lines = result.out.splitlines()
    content = json.loads(command("analyze", model, pairs, "--threshold", 0.01, "--json").out)
    assert content["n"] == 6
    table = [line.split()[-2:] for line in lines[1:3]]
    for row, name in zip(table, ("monotonic", "non_monotonic"), strict=True):
        assert row == [str(content["correct"][name]), str(content["incorrect"][name])]
    assert "alignment distribution" in lines[3]
    assert len(lines[4:]) == len(content["non_monotonic_items"]) > 0
    first, columns = content["non_monotonic_items"][0], lines[4].split("\t")
    assert columns[1:4] == [first["source"], first["prediction"], first["references"][0]]
    assert columns[4] == " ".join(f"{j}-{i}" for j, i in first["edges"])


def test_sources_count_once(command: Command, model: Path) -> None:
    result = command("analyze", model, "-", "--json", stdin=b"ab\tA\nab\tB\n\nc\tC\n")
    content = json.loads(result.out)
    assert content["n"] == 2
    assert "| standard input |" in content["signature"]
    assert "1 blank line" in result.err


@pytest.mark.parametrize("threshold", [-0.1, 1.0, "nan"])
def test_bad_threshold(threshold: object, command: Command, model: Path, pairs: Path) -> None:
    assert_complains(command("analyze", model, pairs, "--threshold", threshold), "threshold")


def test_bad_input(command: Command, model: Path, tmp_path: Path) -> None:
    assert_complains(command("analyze", model, tmp_path / "none"), "no such file")
    assert_complains(command("analyze", model, "-", stdin=b"a\n"), "line 1")
