"""Commands run in this process, with models small enough to make or train in a moment."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hardalign.cli.main import main
from hardalign.config import SIZES, ModelConfig, TrainingConfig
from hardalign.data.example import Example
from hardalign.data.formats import FORMATS, Format
from hardalign.data.vocabulary import Vocabulary
from hardalign.folder import WEIGHTS, Description, write_description
from hardalign.origin import FileOrigin, Origin
from hardalign.tensors import write_tensors
from models import random_tensors

WORDS = ("ab", "ba", "abc", "cab", "bca", "c")
PAIRS = "".join(f"{word}\t{word.upper()}\n" for word in WORDS)


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


EXAMPLES = [Example(tuple(word), (tuple(word.upper()),)) for word in WORDS]


def write_model(
    folder: Path,
    system: str = "hard",
    end: float = 0.0,
    *,
    scale: float = 1.0,
    examples: Sequence[Example] = EXAMPLES,
    layout: Format = FORMATS["pairs"],
) -> Path:
    """A model of the pairs that has learned nothing, as training writes it but without torch."""
    config = ModelConfig(system, embedding=8, encoder=8, decoder=8)
    vocabulary = Vocabulary.of(examples)
    origin = FileOrigin("pairs.tsv", len(examples), "0" * 64)
    data = Origin(train=origin, dev=origin)
    folder.mkdir()
    write_description(folder, Description(config, TrainingConfig(), layout, vocabulary, data))
    tensors = random_tensors(config, vocabulary, scale=scale, end=end)
    write_tensors(folder / WEIGHTS, tensors, {"epoch": 0})
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of the pairs that has learned nothing."""
    return write_model(tmp_path / "model")


def assert_complains(result: Result, *words: object) -> None:
    """Assert that a command failed as users may expect: one line that says what and where."""
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("hardalign: ")
    assert result.err.count("\n") == 1
    for word in words:
        assert str(word) in result.err
