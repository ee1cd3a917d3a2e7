from __future__ import annotations

import io
import runpy
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from unittest import mock

import onnxruntime
import pytest

from hardalign.data.formats import FORMATS, Format
from hardalign.data.reading import read_examples
from helpers import Command, assert_complains, write_model
from systems.onnx_helpers import EXAMPLE, EXPORTABLE


def test_writes_two_graphs(command: Command, model: Path, tmp_path: Path) -> None:
    result = command("export", model, tmp_path / "m.onnx")
    assert (result.code, result.out) == (0, "")
    assert result.err.count("\n") == 1
    for name, needs in (("m.onnx", "source"), ("m.step.onnx", "previous")):
        session = onnxruntime.InferenceSession(tmp_path / name)
        assert session.get_inputs()[0].name == needs
        assert str(tmp_path / name) in result.err


def assert_the_example_prints_the_same(
    command: Command,
    tmp_path: Path,
    lines: list[str],
    words: list[str],
    layout: Format,
    system: str = "hard",
    *,
    end: float = 0.0,
) -> list[str]:
    """Asserts that the example prints what ``predict`` prints, with some model of the lines."""
    pairs, folder, file = tmp_path / "pairs.tsv", tmp_path / "model", tmp_path / "m.onnx"
    pairs.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    examples = list(read_examples(pairs, layout, "training"))
    write_model(folder, system, end=end, scale=4.0, examples=examples, layout=layout)
    assert command("export", folder, file).code == 0
    source = "".join(f"{word}\n" for word in words).encode()
    result = command("predict", folder, "-", stdin=source)
    assert result.code == 0, result.err
    expected = [line.split("\t")[1] for line in result.out.splitlines()]
    # Here, as starting onnxruntime takes longer; the guide's test runs it in a process of its own.
    printed = io.StringIO()
    with mock.patch.object(sys, "argv", [EXAMPLE, str(file), *words]), redirect_stdout(printed):
        runpy.run_path(str(EXAMPLE))
    assert printed.getvalue().removesuffix("\n").split("\n") == expected
    return expected


@pytest.mark.parametrize("system", EXPORTABLE)
def test_the_example_prints_what_predict_prints(
    system: str, command: Command, tmp_path: Path
) -> None:
    stems = [a + b + c for a in "abc" for b in "abc" for c in ("", "a", "bc")]
    lines = [f"{stem}\t{stem.upper()}X\tN" for stem in stems]
    lines += [f"{stem}\tY{stem.upper()}\tV;PST" for stem in stems]
    tags = ("N", "V;PST", "V;NEVER", "NEVER;SEEN")
    words = [f"{stem}{end}\t{tags[k % 4]}" for k, stem in enumerate(stems) for end in ("", "?cab")]
    predictions = assert_the_example_prints_the_same(
        command, tmp_path, lines, words, FORMATS["sigmorphon"], system
    )
    assert len(set(predictions)) > 9


def test_the_example_cuts_and_joins_symbols(command: Command, tmp_path: Path) -> None:
    lines = ["a \u00e9 sch\tX YY Z", "sch a\tZ X", "\u00e9\tYY", "a a\tX X", "sch\tZ"]
    words = ["a e\u0301 sch", "Sch  a ", "\u00c9", "a a a"]
    layout = replace(FORMATS["spaced"], source_case="lower")
    predictions = assert_the_example_prints_the_same(
        command, tmp_path, lines, words, layout, end=-10.0
    )
    assert any(" " in prediction for prediction in predictions)


def test_other_systems(command: Command, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "fed", "soft-feed")
    assert_complains(command("export", folder, tmp_path / "m.onnx"), "soft-feed", "hard, soft")


def test_what_is_missing_is_told(
    command: Command, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_complains(command("export", tmp_path / "none", tmp_path / "m.onnx"), "no such model")
    assert_complains(
        command("export", model, tmp_path / "no" / "m.onnx"), tmp_path / "no" / "m.onnx"
    )
    assert_complains(command("export", model, tmp_path / "m.pt"), "m.pt", ".onnx")
    for module in ("hardalign.systems.export", "hardalign.systems.ops.onnx"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert_complains(command("export", model, tmp_path / "m.onnx"), "needs onnx", "[onnx]")
