from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from hardalign.data.formats import Example
from hardalign.errors import HardalignError
from hardalign.systems import SYSTEMS
from hardalign.systems.export import METADATA, step_file
from helpers import TINY, tiny_description
from systems.onnx_helpers import EXAMPLE, EXPORTABLE, export_random


def about(path: Path) -> dict[str, object]:
    (entry,) = onnx.load(path).metadata_props
    assert entry.key == METADATA
    content: dict[str, object] = json.loads(entry.value)
    return content


def test_the_example_is_short_and_needs_no_torch() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if line]) <= 30
    assert "import torch" not in text
    assert "import hardalign" not in text


def test_the_files_say_how_symbols_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    export_random("hard", path)
    content = about(path)
    assert content == about(step_file(path))
    source = [content["begin"], content["tags"]["V"], content["letters"]["c"], content["end"]]  # type: ignore[index]
    assert source == TINY.encode_source(Example(("c",), tags=("V",)))
    numbers = TINY.target.encode("xyz")
    assert [content["target"][number] for number in numbers] == list("xyz")  # type: ignore[index]
    assert content["format"] == tiny_description("hard").format.to_dict()


def test_equal_models_are_equal_files_and_others_can_be_told_apart(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.onnx", "b.onnx", "c.onnx")]
    for path, seed in zip(paths, (0, 0, 1), strict=True):
        export_random("soft", path, seed)
    for files in (paths, [step_file(path) for path in paths]):
        a, b, c = (file.read_bytes() for file in files)
        assert a == b != c
        assert about(files[0])["sha256"] != about(files[2])["sha256"]


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name not in EXPORTABLE])
def test_systems_that_cannot_be_exported(system: str, tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match=f"^{system} cannot .* are {', '.join(EXPORTABLE)}$"):
        export_random(system, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_where_one_file_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    step_file(path).mkdir()
    with pytest.raises(HardalignError, match=r"m\.step\.onnx: is a folder"):
        export_random("hard", path)
    assert not path.exists()
    for odd in ("model", ".onnx", "model.pt"):
        with pytest.raises(HardalignError, match=r"end in \.onnx"):
            export_random("hard", tmp_path / odd)
