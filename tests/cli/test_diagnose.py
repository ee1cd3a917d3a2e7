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


def test_the_terminal_report(command: Command, model: Path, pairs: Path) -> None:
    result = command("errors", model, pairs)
    assert result.code == 0, result.err
    assert result.out.startswith("6 items, ")
    piped = command("errors", model, "-", stdin=b"ab\tA\n").out
    assert piped.startswith("1 item, ")
    assert "| standard input |" in piped
    for title in ("Commonest confusions", "By length", "By confidence", "Least probable pairs"):
        assert f"\n{title}" in result.out
    assert f"model {model} (hard) | {pairs} | greedy" in result.out


def test_a_page(command: Command, model: Path, pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    result = command("errors", model, pairs, "--output", out)
    assert (result.code, result.out) == (0, ""), result.err
    assert out.read_text("utf-8").startswith("<!doctype html>")
    assert_complains(command("errors", model, pairs, "--output", out, "--tsv"), "--tsv")


@pytest.mark.parametrize("name", ["report.tsv", "report.pdf", "report.html.gz"])
def test_a_page_is_not_called_otherwise(
    name: str, command: Command, model: Path, pairs: Path, tmp_path: Path
) -> None:
    out = tmp_path / name
    assert_complains(command("errors", model, pairs, "--output", out), out, ".html", "--tsv")
    assert not out.exists()


def test_rows(command: Command, model: Path, pairs: Path) -> None:
    result = command("errors", model, pairs, "--tsv")
    header, *lines = result.out.splitlines()
    assert header.split("\t")[:3] == ["Commonest confusions", "", "count"]
    assert sum(line.startswith("Least probable pairs") for line in lines) == 1 + 6


@pytest.mark.parametrize("stdin", [b"", b"ab\n", b"a\xff\tA\n"])
def test_bad_input(stdin: bytes, command: Command, model: Path) -> None:
    assert_complains(command("errors", model, "-", stdin=stdin), "standard input")


def test_escape_sequences_do_not_reach_the_terminal(command: Command, model: Path) -> None:
    data = "a\x1b]0;b\x07\tA\x1b[31m\nab\tA\x9b\n".encode()
    for options in ((), ("--tsv",)):
        result = command("errors", model, "-", *options, stdin=data)
        assert result.code == 0, result.err
        assert r"a\x1b]0;b\x07" in result.out
        assert not {"\x1b", "\x07", "\x9b"} & {*result.out, *result.err}


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


def test_comparison_as_json(command: Command, model: Path, other: Path, pairs: Path) -> None:
    content = json.loads(command("compare", model, other, pairs, "--json").out)
    assert content["n"] == 6
    assert len(content["models"]) == 2
    assert content["alone"] == {str(model): [], str(other): []}


def test_bad_comparisons(command: Command, model: Path, pairs: Path) -> None:
    assert_complains(command("compare", model, pairs), "two models")
    assert_complains(command("compare"), "two models")
    assert_complains(command("compare", model, model, pairs), "twice")
    assert_complains(command("compare", model, "en-g2p", pairs, "--words", -1), "--words", "-1")
    assert_complains(command("compare", "en-g2p", model, pairs), "en-g2p", model, "symbols")
    assert_complains(command("compare", model, "/no/model", pairs), "/no/model")
