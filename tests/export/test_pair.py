from __future__ import annotations

import itertools
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
import torch

from conftest import TINY, tiny_model, tiny_vocabulary
from export.conftest import described
from hardalign.data.example import Example
from hardalign.data.formats import FORMATS
from hardalign.errors import HardalignError
from hardalign.export import METADATA, export_onnx, step_file
from hardalign.predictor import Predictor
from hardalign.systems import SYSTEMS

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "onnx_greedy.py"
EXPORTABLE = ("hard", "soft", "hard-sampled")


def export(system: str, path: Path, seed: int = 0) -> None:
    export_onnx(tiny_model(system, seed=seed), described(system, TINY), path)


def about(path: Path) -> dict[str, object]:
    (entry,) = onnx.load(path).metadata_props
    assert entry.key == METADATA
    content: dict[str, object] = json.loads(entry.value)
    return content


def example(path: Path, words: list[str]) -> list[str]:
    """What the example in the documents predicts."""
    run = subprocess.run(
        [sys.executable, EXAMPLE, path, *words], capture_output=True, encoding="utf-8", check=True
    )
    assert run.stderr == ""
    return run.stdout.removesuffix("\n").split("\n")


@pytest.mark.parametrize("system", EXPORTABLE)
@pytest.mark.parametrize("seed", range(2))
def test_the_example_predicts_the_same(system: str, seed: int, tmp_path: Path) -> None:
    model = tiny_model(system, seed=seed, dtype=torch.float32)
    description = described(system, TINY)
    export_onnx(model, description, tmp_path / "m.onnx")
    tags = itertools.cycle(["", "\tN", "\tV;N", "\tUNKNOWN"])
    words = [
        "".join(letters) for n in (1, 2, 3, 7) for letters in itertools.product("abd?", repeat=n)
    ]
    words = [word + next(tags) for word in words[::37] + words[:80]]
    predict = Predictor(model, description)
    expected = [found.text for found in predict(words)]
    assert len(set(expected)) > 5
    assert example(tmp_path / "m.onnx", words) == expected


def test_the_example_cuts_and_joins_symbols(tmp_path: Path) -> None:
    vocabulary = tiny_vocabulary(("a", "é", "sch"), (), ("X", "YY", "Z"))
    model = tiny_model("hard", vocabulary, seed=7, dtype=torch.float32)
    layout = replace(FORMATS["spaced"], source_case="lower")
    description = replace(described("hard", vocabulary), format=layout)
    export_onnx(model, description, tmp_path / "m.onnx")
    words = ["a e\u0301 sch", "Sch  a ", "\u00c9"]
    expected = [found.text for found in Predictor(model, description)(words)]
    assert any(" " in text for text in expected)
    assert example(tmp_path / "m.onnx", words) == expected


def test_the_example_is_short_and_needs_no_torch() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert text.count("\n") <= 32
    assert "import torch" not in text
    assert "import hardalign" not in text


def test_the_files_say_how_symbols_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    export("hard", path)
    content = about(path)
    assert content == about(step_file(path))
    source = [content["begin"], content["tags"]["V"], content["letters"]["c"], content["end"]]  # type: ignore[index]
    assert source == TINY.encode_source(Example(("c",), tags=("V",)))
    numbers = TINY.target.encode("xyz")
    assert [content["target"][number] for number in numbers] == list("xyz")  # type: ignore[index]
    assert content["format"] == described("hard", TINY).format.to_dict()


def test_equal_models_are_equal_files_and_others_can_be_told_apart(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.onnx", "b.onnx", "c.onnx")]
    for path, seed in zip(paths, (0, 0, 1), strict=True):
        export("soft", path, seed)
    for files in (paths, [step_file(path) for path in paths]):
        a, b, c = (file.read_bytes() for file in files)
        assert a == b != c
        assert about(files[0])["sha256"] != about(files[2])["sha256"]


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name not in EXPORTABLE])
def test_systems_that_cannot_be_exported(system: str, tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match=f"^{system} .* are hard, soft, hard-sampled$"):
        export(system, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_where_one_file_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    step_file(path).mkdir()
    with pytest.raises(HardalignError, match=r"m\.step\.onnx: is a folder"):
        export("hard", path)
    assert not path.exists()
    for odd in ("model", ".onnx", "model.pt"):
        with pytest.raises(HardalignError, match=r"ends in \.onnx"):
            export("hard", tmp_path / odd)


def test_the_model_is_left_as_it_was(tmp_path: Path) -> None:
    model = tiny_model("hard")
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    export_onnx(model, described("hard", TINY), tmp_path / "m.onnx")
    for name, tensor in model.state_dict().items():
        assert tensor.dtype == before[name].dtype
        assert torch.equal(tensor, before[name])
