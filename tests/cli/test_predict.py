from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from cli.conftest import Command, complains


def test_one_line_per_line_in_order(command: Command, model: Path) -> None:
    words = ["abc", "c", "cab" * 30, "ab", "b"] * 7
    result = command("predict", model, stdin="\n".join(words).encode())
    assert result.code == 0
    assert [line.split("\t")[0] for line in result.out.splitlines()] == words
    alone = command("predict", model, "-", stdin=b"cab\n")
    assert alone.out in command("predict", model, stdin=b"abcabc\ncab\n").out


def test_blank_lines_keep_their_place(command: Command, model: Path) -> None:
    result = command("predict", model, "--scores", stdin=b"ab\n\nc\n")
    lines = [line.split("\t") for line in result.out.splitlines()]
    assert [line[0] for line in lines] == ["ab", "", "c"]
    assert lines[1][1] == ""
    assert "1 blank line" in result.err
    assert "line 2" in result.err


def test_unknown_symbols_are_reported_once(command: Command, model: Path) -> None:
    result = command("predict", model, stdin="aé\nééz\n".encode())
    assert result.code == 0
    assert result.err.count("never seen") == 1
    assert "'é' × 3" in result.err
    assert "'z' × 1" in result.err


def test_cut_off_predictions_are_reported(command: Command, model: Path) -> None:
    from hardalign.storage import WEIGHTS, read_tensors, write_tensors

    tensors, notes = read_tensors(model / WEIGHTS)
    tensors["head.attention.output.bias"][3] = -1e4  # the end: never
    write_tensors(model / WEIGHTS, tensors, notes)
    result = command("predict", model, stdin=b"abc\n")
    assert result.code == 0
    assert len(result.out.rstrip("\n").split("\t")[1]) == 4 * (3 + 2)
    assert "1 prediction" in result.err
    assert "cut off at 4 times" in result.err


def test_output_appears_whole_or_not_at_all(command: Command, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    good = command("predict", model, "--output", out, stdin=b"ab\nc\n")
    assert (good.code, good.out) == (0, "")
    assert out.read_text().count("\n") == 2
    bad = command("predict", model, "--output", out, stdin=b"ab\na\tb\tc\n")
    complains(bad, "standard input", "line 2")
    assert out.read_text().count("\n") == 2
    assert [path.name for path in tmp_path.glob(".*")] == []
    complains(command("predict", model, "--output", "/proc/no", stdin=b"ab\n"), "/proc/no")


@pytest.mark.parametrize("text", ["नमस्ते", "한글", "مرحبا", "e\u0301", "👩‍👩‍👧", '"<s>"', "[PAD]"])
def test_every_script_survives(text: str, command: Command, model: Path) -> None:
    result = command("predict", model, stdin=text.encode())
    assert result.code == 0
    assert result.out.split("\t")[0] == text


@pytest.mark.parametrize("stdin", [b"", b"\n\n", b"a\xff\n", b"a\tb\tc\n"])
def test_bad_input(stdin: bytes, command: Command, model: Path) -> None:
    complains(command("predict", model, stdin=stdin), "standard input")


def test_broken_pipe_is_quiet(
    command: Command, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Closed(io.TextIOWrapper):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with Path("/dev/null").open("wb") as sink:
        monkeypatch.setattr(sys, "stdout", Closed(sink))
        result = command("predict", model, stdin=b"ab\n")
        assert result.code == 141
    assert result.err == ""
