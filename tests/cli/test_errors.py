from __future__ import annotations

from pathlib import Path

import pytest

from helpers import Command, assert_complains
from text.fakes import random_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return random_model(tmp_path / "model")


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardalign.cli.main.COMMANDS", ("errors",))


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
    assert header.split("\t")[:3] == ["section", "name", "count"]
    assert sum(line.startswith("improbable pair\t") for line in lines) == 6


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
