from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from conftest import TINY, tiny_model
from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.formats import FORMATS
from hardalign.errors import HardalignError
from hardalign.systems import SYSTEMS
from hardalign.training.storage import (
    CONFIG,
    VOCABULARY,
    WEIGHTS,
    Description,
    claim_folder,
    load_model,
    read_description,
    write_tensors,
)


def describe(system: str = "hard") -> Description:
    sizes = ModelConfig(system, embedding=3, encoder=4, decoder=5, dropout=0.3)
    return Description(sizes, TrainingConfig(), FORMATS["sigmorphon"], TINY, {"train": "a"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save("hard", tmp_path / "model")


def save(system: str, folder: Path) -> Path:
    claim_folder(folder, describe(system))
    model = tiny_model(system, dtype=torch.float32)
    write_tensors(folder / WEIGHTS, model.state_dict(), {"epoch": 0})
    return folder


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_was_saved_comes_back(system: str, tmp_path: Path) -> None:
    model, description = load_model(save(system, tmp_path))
    assert description == describe(system)
    assert not model.training
    before = tiny_model(system, dtype=torch.float32).state_dict()
    after = model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS])
def test_missing_file(name: str, folder: Path) -> None:
    (folder / name).unlink()
    with pytest.raises(HardalignError, match=f"{name}: no such file"):
        load_model(folder)


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS])
@pytest.mark.parametrize("kept", [0, 10, -10])
def test_truncated_file(name: str, kept: int, folder: Path) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(HardalignError, match=name):
        load_model(folder)


def test_a_single_wrong_byte(folder: Path) -> None:
    path = folder / WEIGHTS
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    with pytest.raises(HardalignError, match=f"{WEIGHTS}: damaged: its checksum"):
        load_model(folder)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"format_version": 99}, "format version 99"),
        ({"model": {"system": "hard", "sparkle": 1}}, "sparkle"),
        ({"model": None}, "missing"),
        ({"format": {}}, "format"),
        ({"model": {"system": "harder"}}, "harder"),
    ],
)
def test_strange_settings(change: dict[str, object], word: str, folder: Path) -> None:
    path = folder / CONFIG
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(HardalignError, match=word):
        load_model(folder)


def test_weights_of_another_model(folder: Path) -> None:
    write_tensors(folder / WEIGHTS, {"a": torch.zeros(1)}, {"epoch": 0})
    with pytest.raises(HardalignError, match="do not fit"):
        load_model(folder)


def test_equal_models_are_equal_files(tmp_path: Path) -> None:
    contents = {(save("hard", tmp_path / str(k)) / WEIGHTS).read_bytes() for k in range(5)}
    assert len(contents) == 1


def test_nothing_is_pickled(folder: Path) -> None:
    for path in folder.iterdir():
        assert not path.read_bytes().startswith((b"\x80", b"PK"))


def test_description_of_no_folder(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="no such model folder"):
        read_description(tmp_path / "none")
