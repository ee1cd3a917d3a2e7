from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers import PAIRS, Command, assert_complains, write_model


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def test_one_line_per_pair_in_order(command: Command, model: Path, pairs: Path) -> None:
    result = command("score", model, pairs)
    assert result.code == 0
    assert ["\t".join(row[:2]) for row in rows(result.out)] == PAIRS.splitlines()
    assert all(float(row[2]) < 0 for row in rows(result.out))
    assert result.err == ""


def test_a_pairs_score_is_its_own(
    command: Command, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = (PAIRS + "abcabcabc\tCAB\n").encode()
    together = command("score", model, stdin=stdin).out
    monkeypatch.setattr("hardalign.batches.WINDOW", 2)
    by_windows = command("score", model, stdin=stdin).out
    for one, other in zip(rows(together), rows(by_windows), strict=True):
        assert one[:2] == other[:2]
        assert float(one[2]) == pytest.approx(float(other[2]), abs=1e-5)


def test_per_symbol(command: Command, model: Path, pairs: Path) -> None:
    for _, target, total, symbols in rows(command("score", model, pairs, "--per-symbol").out):
        values = [float(value) for value in symbols.split(" ")]
        assert len(values) == len(target) + 1
        assert sum(values) == pytest.approx(float(total), abs=1e-5)


def test_what_was_never_seen_is_named(command: Command, model: Path) -> None:
    pairs = "ab\tAqB\nab\tqéq\néb\tB\n".encode()
    result = command("score", model, "--per-symbol", stdin=pairs)
    assert result.code == 0
    first, second, third = rows(result.out)
    assert [first[2], second[2]] == ["-inf", "-inf"]
    assert first[3].split(" ")[1:] == ["-inf"] * 3
    assert float(first[3].split(" ")[0]) < 0
    assert float(third[2]) < 0
    assert "2 targets have log p = -inf" in result.err
    assert "1 target has log p = -inf" in command("score", model, stdin=b"ab\tq\n").err
    assert "'q' × 3" in result.err
    assert "'é' × 1" in result.err
    assert "1 source symbol was never seen" in result.err


def test_a_name_with_several_targets_has_a_line_for_each(command: Command, model: Path) -> None:
    names = b"""<?xml version="1.0"?><TransliterationCorpus><Name ID="1">
    <SourceName>ab</SourceName><TargetName ID="1">AB</TargetName>
    <TargetName ID="2">BA</TargetName></Name></TransliterationCorpus>"""
    result = command("score", model, "--format", "news", stdin=names)
    assert result.code == 0, result.err
    assert len(rows(result.out)) == 2
    assert len({row[2] for row in rows(result.out)}) == 2


def test_blank_lines_and_empty_targets(command: Command, model: Path) -> None:
    result = command("score", model, stdin=b"ab\tA\n\nab\tB\n")
    assert len(rows(result.out)) == 2
    assert "standard input: 1 blank line passed over" in result.err
    assert_complains(command("score", model, stdin=b"ab\t\n"), "line 1", "empty")
    ((source, target, log_prob),) = rows(
        command("score", model, "--allow-empty", stdin=b"ab\t\n").out
    )
    assert (source, target) == ("ab", "")
    assert float(log_prob) < 0


@pytest.mark.parametrize("stdin", [b"", b"\n", b"ab\n", b"a\xff\tA\n"])
def test_bad_input(stdin: bytes, command: Command, model: Path) -> None:
    assert_complains(command("score", model, stdin=stdin), "standard input")


def test_particles_are_for_systems_that_need_them(
    command: Command, model: Path, pairs: Path, tmp_path: Path
) -> None:
    fed_model = write_model(tmp_path / "fed", system="hard-feed")
    assert_complains(command("score", model, pairs, "--particles", 5), "particles estimate")
    both = command("score", fed_model, pairs, "--particles", 5, "--per-symbol")
    assert_complains(both, "whole targets")
    result = command("score", fed_model, pairs, "--particles", 5)
    assert "estimates of log p(y | x) by 5 particles" in result.err
    assert [row[:2] for row in rows(result.out)] == [
        row[:2] for row in rows(command("score", fed_model, pairs).out)
    ]
    assert result.out == command("score", fed_model, pairs, "--particles", 5).out


@pytest.mark.parametrize("name", ["score", "align"])
def test_a_line_from_a_pipe_is_answered_before_the_next_is_read(model: Path, name: str) -> None:
    command = [sys.executable, "-m", "hardalign", name, model]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for pair in ("ab\tAB", "c\tC"):
            process.stdin.write(f"{pair}\n")
            assert process.stdout.readline()  # would wait for ever
        process.stdin.close()
        assert process.stdout.read() == ""
    assert process.returncode == 0
