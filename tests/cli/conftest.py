"""Commands run in this process, with models small enough to train in a moment."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hardalign.cli.main import main
from hardalign.config import SIZES

PAIRS = "".join(f"{word}\t{word.upper()}\n" for word in ("ab", "ba", "abc", "cab", "bca", "c"))


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run ``hardalign`` with some arguments and, if given, bytes on standard input."""
    tiny = replace(SIZES["small"], embedding=8, encoder=8, decoder=8)
    monkeypatch.setitem(SIZES, "small", tiny)

    def run(*arguments: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "argv", ["hardalign", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return run


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """A file of training pairs."""
    path = tmp_path / "pairs.tsv"
    path.write_text(PAIRS, encoding="utf-8")
    return path


@pytest.fixture
def model(command: Command, pairs: Path, tmp_path: Path) -> Path:
    """An untrained model of the pairs."""
    folder = tmp_path / "model"
    result = command("train", pairs, "--dev", pairs, "--out", folder, "--epochs", 0)
    assert result.code == 0, result.err
    return folder


def assert_complains(result: Result, *words: object) -> None:
    """Assert that a command failed as users may expect: one line that says what and where."""
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("hardalign: ")
    assert result.err.count("\n") == 1
    for word in words:
        assert str(word) in result.err
