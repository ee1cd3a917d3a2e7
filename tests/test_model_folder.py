from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import torch

from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.formats import FORMATS, Example
from hardalign.data.reading import CorpusOrigin, FileOrigin, Origin
from hardalign.errors import HardalignError
from hardalign.files import JSON_DEPTH
from hardalign.model_folder import (
    CONFIG,
    LANGUAGES,
    RUN,
    VOCABULARY,
    WEIGHTS,
    Description,
    load_folder,
    read_description,
    read_tensors,
    write_description,
    write_tensors,
)
from hardalign.predictor import load
from hardalign.systems import SYSTEMS
from hardalign.systems.parameters import TRAINING_ONLY
from helpers import TINY, tiny_model, write_model

FILES = Origin(train=FileOrigin("a", 3, "x"), dev=FileOrigin("b", 2, "y"))


def describe(system: str = "hard") -> Description:
    sizes = ModelConfig(system, embedding=3, encoder=4, decoder=5, dropout=0.3)
    return Description(sizes, TrainingConfig(), FORMATS["sigmorphon"], TINY, FILES)


def arrays(system: str = "hard", dtype: torch.dtype = torch.float32) -> dict[str, np.ndarray]:
    state = tiny_model(system, dtype=dtype).state_dict()
    return {name: tensor.numpy() for name, tensor in state.items()}


def save(system: str, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    write_description(folder, describe(system))
    write_tensors(folder / WEIGHTS, arrays(system), {"epoch": 0})
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save("hard", tmp_path / "model")


def older(folder: Path, **change: Any) -> Path:
    """The folder as the first version wrote it, without checksums, and with a change."""
    path = folder / CONFIG
    config = json.loads(path.read_text()) | {"format_version": 1} | change
    del config["sha256"]
    path.write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_was_saved_comes_back(system: str, tmp_path: Path) -> None:
    tensors, description = load_folder(save(system, tmp_path))
    assert description == describe(system)
    before = {name: one for name, one in arrays(system).items() if name not in TRAINING_ONLY}
    assert before.keys() == tensors.keys()
    assert all(np.array_equal(before[name], tensors[name]) for name in before)


@pytest.mark.parametrize(
    "origin", [Origin(), FILES, Origin(corpus=CorpusOrigin("toy:copy", 1, False, 90))]
)
def test_origins_come_back(origin: Origin, folder: Path) -> None:
    write_description(folder, replace(describe(), data=origin))
    assert read_description(folder).data == origin


def test_folders_of_the_first_version(folder: Path) -> None:
    assert load_folder(older(folder))[1] == describe()
    model = {**describe().model.to_dict(), "system": "hard-feed"}
    assert read_description(older(save("hard", folder), model=model)).model.system == (
        "hard-feed-reinforce"
    )


@pytest.mark.parametrize(("kind", "read"), [(np.float16, np.float32), (np.float64, np.float64)])
def test_other_precisions(kind: type, read: type, folder: Path) -> None:
    tensors = {name: one.astype(kind) for name, one in arrays().items()}
    write_tensors(folder / WEIGHTS, tensors, {"epoch": 0})
    loaded, _ = load_folder(folder)
    assert {one.dtype for one in loaded.values()} == {np.dtype(read)}
    assert all(np.array_equal(one, tensors[name]) for name, one in loaded.items())


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS])
def test_missing_file(name: str, folder: Path) -> None:
    (folder / name).unlink()
    with pytest.raises(HardalignError, match=f"{name}: no such file"):
        load_folder(folder)


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), os.mkdir])
def test_what_is_no_file(name: str, make: Callable[[Path], None], folder: Path) -> None:
    (folder / name).unlink()
    make(folder / name)
    with pytest.raises(HardalignError, match=f"{name}: is not a regular file"):
        load_folder(folder)


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS])
def test_unreadable_file(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def refuse(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name == name:
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(HardalignError, match=f"{name}: cannot be read: Permission denied"):
        load_folder(folder)


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS])
@pytest.mark.parametrize("kept", [0, 10, -10])
def test_truncated_file(name: str, kept: int, folder: Path) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(HardalignError, match=name):
        load_folder(folder)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [(VOCABULARY, b'"x"', b'"p"'), (CONFIG, b"0.3", b"0.1"), (CONFIG, b'"seed": 0', b'"seed": 1')],
)
def test_a_letter_that_changed(name: str, old: bytes, new: bytes, folder: Path) -> None:
    path = folder / name
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    with pytest.raises(HardalignError, match=f"{name}: damaged: its checksum"):
        load_folder(folder)
    # Whoever means it can say so.
    config = json.loads((folder / CONFIG).read_text())
    del config["sha256"]
    (folder / CONFIG).write_text(json.dumps(config))
    load_folder(folder)


def test_a_single_wrong_byte(folder: Path) -> None:
    path = folder / WEIGHTS
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    with pytest.raises(HardalignError, match=f"{WEIGHTS}: damaged: its checksum"):
        load_folder(folder)


DEEP: Any = "deep"
for _ in range(JSON_DEPTH + 1):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"format_version": 99}, "format version 99"),
        ({"format_version": [1]}, "format version"),
        ({"model": {"system": "hard", "sparkle": 1}}, "sparkle"),
        ({"model": None}, "ModelConfig must be an object"),
        ({"model": DEEP}, "nested too deeply"),
        ({"model": {"system": 1}}, "system must be str"),
        ({"model": {"system": "harder"}}, "harder"),
        ({"model": {"encoder": "200"}}, "encoder"),
        ({"model": {"encoder": 9000}}, "weights do not fit"),
        ({"model": {"encoder": 10**30}}, "encoder must be int <="),
        ({"model": {"decoder_layers": 0}}, "decoder_layers must be"),
        ({"model": {"system": "monotonic", "decoder_layers": 0}}, "decoder_layers must be"),
        ({"model": {"dropout": float("nan")}}, "NaN is not a number"),
        ({"training": {"seed": None}}, "seed"),
        ({"training": {"seed": 2**64}}, "seed must be"),
        ({"format": {}}, "format"),
        ({"data": {"corpus": 1}}, "origin of the data"),
        ({"data": {"train": {"file": 1, "examples": 1, "sha256": ""}}}, "file"),
        ({"data": []}, "origin of the data"),
    ],
)
def test_strange_settings(change: dict[str, object], word: str, folder: Path) -> None:
    with pytest.raises(HardalignError, match=word) as caught:
        load_folder(older(folder, **change))
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    "letters", ["abcd", [1, 2, 3, 4], ["a", "a", "b", "c"], ["\ud800", "b", "c", "d"], None, [""]]
)
def test_strange_vocabularies(letters: object, folder: Path) -> None:
    values = {"source": {"letters": letters, "tags": ["N", "V"]}, "target": {"letters": ["x"]}}
    (folder / VOCABULARY).write_text(json.dumps(values))
    with pytest.raises(HardalignError, match=f"{VOCABULARY}: not a vocabulary"):
        load_folder(older(folder))


def test_deeply_nested_files(folder: Path) -> None:
    for name in (CONFIG, VOCABULARY):
        (older(save("hard", folder)) / name).write_text("[" * 100_000)
        with pytest.raises(HardalignError, match=f"{name}: cannot be read as JSON"):
            load_folder(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_weights_that_are_no_numbers(value: float, folder: Path) -> None:
    tensors = arrays()
    tensors["decoder.lstm.bias_ih_l0"][0] = value
    write_tensors(folder / WEIGHTS, tensors, {"epoch": 0})
    with pytest.raises(HardalignError, match="not finite"):
        load_folder(folder)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float8_e5m2, torch.int32])
def test_numbers_of_other_types(kind: torch.dtype, folder: Path) -> None:
    import safetensors.torch

    state = tiny_model(dtype=torch.float32).state_dict()
    content = {name: tensor.to(kind) for name, tensor in state.items()}
    (folder / WEIGHTS).write_bytes(safetensors.torch.save(content))
    with pytest.raises(HardalignError, match="only F16, F32, F64 are read"):
        load_folder(folder)


def test_weights_of_another_model(folder: Path) -> None:
    write_tensors(folder / WEIGHTS, {"a": np.zeros(1)}, {"epoch": 0})
    with pytest.raises(HardalignError, match="do not fit"):
        load_folder(folder)


def test_weights_of_another_program(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes(safetensors.numpy.save(arrays()))
    with pytest.raises(HardalignError, match="was not written by hardalign"):
        load_folder(folder)


@pytest.mark.parametrize("notes", ["[1]", "null", "[" * 100_000])
def test_strange_notes(notes: str, folder: Path) -> None:
    content = safetensors.numpy.save(arrays(), {"hardalign": notes})
    (folder / WEIGHTS).write_bytes(content)
    with pytest.raises(HardalignError, match=WEIGHTS):
        read_tensors(folder / WEIGHTS)


def test_equal_models_are_equal_files(tmp_path: Path) -> None:
    contents = {(save("hard", tmp_path / str(k)) / WEIGHTS).read_bytes() for k in range(5)}
    assert len(contents) == 1


@pytest.mark.parametrize("name", ["none", "n" * 300])
def test_description_of_no_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match=r"no such model folder|cannot be read"):
        read_description(tmp_path / name)


def mutated(content: bytes, draw: random.Random) -> bytes:
    """The content with a few bytes changed, cut out, doubled, or replaced by odd values."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 3)):
        if not changed:
            break
        at = draw.randrange(len(changed))
        action = draw.randrange(5)
        if action == 0:
            changed[at] ^= 1 << draw.randrange(8)
        elif action == 1:
            del changed[at : at + draw.randint(1, 50)]
        elif action == 2:
            changed[at:at] = changed[at : at + draw.randint(1, 50)]
        elif action == 3:
            changed[at] = draw.choice(b'0123456789-[]{}",:ex')
        else:
            odd = [b"null", b"-1", b"0", b"1e999", b"NaN", b'""', b"[]", b"{}", b"true", b"9" * 30]
            changed[at : at + draw.randint(0, 4)] = draw.choice(odd)
    return bytes(changed)


@pytest.mark.parametrize("system", ["hard", "monotonic"])
def test_damage_of_any_kind_is_one_line(system: str, tmp_path: Path) -> None:
    """Checksums are off here, so that the checks behind them are met."""
    draw = random.Random(f"folders of {system}")
    folder = older(save(system, tmp_path))
    originals = {name: (folder / name).read_bytes() for name in (CONFIG, VOCABULARY, WEIGHTS)}
    messages = []
    for _ in range(400):
        name = draw.choice([CONFIG, CONFIG, VOCABULARY, WEIGHTS])
        (folder / name).write_bytes(mutated(originals[name], draw))
        try:
            load_folder(folder)
        except HardalignError as error:
            messages.append(str(error))
        (folder / name).write_bytes(originals[name])
    assert 200 < len(messages) < 400
    assert not [message for message in messages if "\n" in message]


def test_a_folder_takes_little_more_than_its_own_size(tmp_path: Path) -> None:
    """Whatever its settings say is not allocated before it is found to be wrong."""
    model = {**describe().model.to_dict(), "encoder": 90_000, "decoder": 90_000}
    older(save("monotonic", tmp_path), model=model)
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from hardalign.model_folder import load_folder\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "try: load_folder(Path(sys.argv[1]))\n"
        "except Exception as error: print(type(error).__name__, error)\n"
        "assert 'torch' not in sys.modules\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    result = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, env=environment
    )
    assert result.stdout.startswith("HardalignError"), result.stderr
    assert "weights do not fit" in result.stdout


def test_a_folder_of_runs_names_one(tmp_path: Path) -> None:
    (tmp_path / "hard.0").mkdir()
    (tmp_path / "hard.0" / RUN).touch()
    with pytest.raises(HardalignError, match=r"not a model folder; give a run in it, .*hard\.0"):
        read_description(tmp_path)


@pytest.mark.parametrize(
    "content", ["[1]", "null", '"x"', '{"N": 1}', '{"N": [1]}', '{"N": []}', '{"N": {"b": 1}}']
)
def test_strange_languages(content: str, folder: Path) -> None:
    save("hard", folder)
    (folder / LANGUAGES).write_text(content)
    with pytest.raises(HardalignError, match=f"{LANGUAGES}: damaged: not an object with a list"):
        load(folder)


@pytest.mark.parametrize("tag", ["字" * 100, "../x", "a\0b"])
def test_tags_that_name_no_file(tag: str, tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("a\tA\n")
    examples = [Example(("a", "b"), (("A",),), (tag, "V"))]
    folder = write_model(tmp_path / "m", examples=examples, layout=FORMATS["sigmorphon"])
    assert not load(folder).lexicon
