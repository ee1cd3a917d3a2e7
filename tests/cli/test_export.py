from __future__ import annotations

import sys
from pathlib import Path

import onnxruntime
import pytest

from cli.conftest import Command, assert_complains


def test_writes_two_graphs(command: Command, model: Path, tmp_path: Path) -> None:
    result = command("export", model, tmp_path / "m.onnx")
    assert (result.code, result.out) == (0, "")
    assert result.err.count("\n") == 1
    for name, needs in (("m.onnx", "source"), ("m.step.onnx", "previous")):
        session = onnxruntime.InferenceSession(tmp_path / name)
        assert session.get_inputs()[0].name == needs
        assert str(tmp_path / name) in result.err


def test_other_systems(command: Command, pairs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "fed"
    options = ("--epochs", 0, "--system", "soft-feed")
    assert command("train", pairs, "--dev", pairs, "--out", folder, *options).code == 0
    assert_complains(command("export", folder, tmp_path / "m.onnx"), "soft-feed", "hard, soft")


def test_what_is_missing_is_told(
    command: Command, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_complains(command("export", tmp_path / "none", tmp_path / "m.onnx"), "no such model")
    assert_complains(
        command("export", model, tmp_path / "no" / "m.onnx"), tmp_path / "no" / "m.onnx"
    )
    assert_complains(command("export", model, tmp_path / "m.pt"), "m.pt", ".onnx")
    for module in [name for name in sys.modules if name.startswith("hardalign.export")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert_complains(command("export", model, tmp_path / "m.onnx"), "needs onnx", "hardalign[onnx]")
