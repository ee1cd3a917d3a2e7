from __future__ import annotations

from pathlib import Path

from helpers import Command, assert_complains


def test_split(command: Command, pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "data"
    result = command("split", pairs, "--out", out, "--dev", 0.2, "--test", 0.2)
    assert result.code == 0, result.err
    rows = [line.split("\t") for line in result.out.splitlines()]
    assert rows == [
        ["train", str(out / "train.tsv"), "4", "4"],
        ["dev", str(out / "dev.tsv"), "1", "1"],
        ["test", str(out / "test.tsv"), "1", "1"],
    ]
    assert_complains(command("split", pairs, "--out", out), "train.tsv", "already exists")


def test_standard_input(command: Command, tmp_path: Path) -> None:
    content = b"a\t1\n\nb\t2\nc\t3\n"
    result = command("split", "-", "--out", tmp_path / "data", stdin=content)
    assert result.code == 0
    assert "standard input: 1 blank line left out" in result.err
    bad = command("split", "-", "--out", tmp_path / "more", stdin=b"a\tb\tc\n")
    assert_complains(bad, "standard input, line 1")
    assert not (tmp_path / "more").exists()
