"""The model folder: safetensors and JSON, checked when read; never pickle.

weights.safetensors     the best epoch's weights
config.json             model, training and data settings, versions
vocabulary.json         the symbols of both sides
metrics.jsonl           one line per epoch
checkpoint.safetensors  where training stands, for --resume
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from hardalign.bundled import BUNDLED
from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.formats import Format
from hardalign.data.vocabulary import Vocabulary
from hardalign.errors import HardalignError
from hardalign.files import make_folder, read_json, sha256, write_bytes, write_json
from hardalign.networks.build import build_model
from hardalign.networks.transducer import Transducer
from hardalign.version import __version__

FORMAT_VERSION = 1
"""Version of the folder's format, raised when an older program could not read it any more."""
CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocabulary.json", "weights.safetensors"
METRICS, CHECKPOINT = "metrics.jsonl", "checkpoint.safetensors"


@dataclass(frozen=True)
class Description:
    """All that is known of a model but its weights."""

    model: ModelConfig
    training: TrainingConfig
    format: Format
    vocabulary: Vocabulary
    data: dict[str, Any]
    """Where the training data came from: files, checksums, counts."""


def claim_folder(
    folder: Path, description: Description, *, resume: bool = False, overwrite: bool = False
) -> None:
    """Make sure that a run may write to a folder, and create it.

    Args:
        folder: An empty or new one; any other needs ``resume`` or ``overwrite``.
        description: Of the run that wants it.
        resume: Keep what is there; it must be the same run, though it may now go on for longer.
        overwrite: Remove the model that is there.

    Raises:
        HardalignError: If the folder is taken, or cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise HardalignError(f"{folder}: is a file, not a folder; choose another --out")
    taken = folder.is_dir() and any(folder.iterdir())
    if taken and resume:
        if (folder / CONFIG).exists():
            _check_same_run(folder, description)
    elif taken and overwrite:
        for name in (CHECKPOINT, WEIGHTS, METRICS, VOCABULARY, CONFIG):
            (folder / name).unlink(missing_ok=True)
    elif taken:
        raise HardalignError(
            f"{folder}: is not empty; go on with --resume, replace it with --overwrite, "
            "or choose another --out"
        )
    make_folder(folder)
    write_description(folder, description)


def _check_same_run(folder: Path, description: Description) -> None:
    before = read_description(folder)
    before = replace(before, training=replace(before.training, epochs=description.training.epochs))
    for field in fields(before):
        old, new = getattr(before, field.name), getattr(description, field.name)
        if old != new:
            raise HardalignError(
                f"{folder}: cannot resume, its {field.name} was another: {_difference(old, new)}; "
                "give the same options, or start anew with --overwrite"
            )


def _difference(old: Any, new: Any) -> str:
    """The first setting that differs."""
    a, b = (value if isinstance(value, dict) else value.to_dict() for value in (old, new))
    name = next(name for name in {**a, **b} if a.get(name) != b.get(name))
    return f"{name} {a.get(name)!r:.200}, now {b.get(name)!r:.200}"


def write_description(folder: Path, description: Description) -> None:
    """Write ``config.json`` and ``vocabulary.json``."""
    write_json(folder / VOCABULARY, description.vocabulary.to_dict())
    config = {
        "format_version": FORMAT_VERSION,
        "hardalign": __version__,
        "model": description.model.to_dict(),
        "training": description.training.to_dict(),
        "format": description.format.to_dict(),
        "data": description.data,
    }
    write_json(folder / CONFIG, config)


def read_description(folder: Path) -> Description:
    """Read what ``write_description`` wrote.

    Raises:
        HardalignError: if a file is missing, damaged, or of a newer format.
    """
    if not folder.is_dir():
        raise HardalignError(
            f"{folder}: no such model folder; `hardalign train` makes one, and there are bundled "
            f"models: {', '.join(BUNDLED)}"
        )
    path = folder / CONFIG
    config = read_json(path)
    version = config.get("format_version") if isinstance(config, dict) else None
    if version != FORMAT_VERSION:
        raise HardalignError(
            f"{path}: format version {version!r}, but this hardalign {__version__} reads "
            f"version {FORMAT_VERSION}; use the hardalign that wrote the model"
        )
    try:
        model = ModelConfig.from_dict(config.get("model"))
        training = TrainingConfig.from_dict(config.get("training"))
        format_ = Format.from_dict(config.get("format"))
    except HardalignError as error:
        raise HardalignError(f"{path}: {error}") from error
    try:
        vocabulary = Vocabulary.from_dict(read_json(folder / VOCABULARY))
    except HardalignError as error:
        raise HardalignError(f"{folder / VOCABULARY}: {error}") from error
    return Description(model, training, format_, vocabulary, config.get("data", {}))


def load_model(folder: Path) -> tuple[Transducer, Description]:
    """The model of a folder with its trained weights, ready to predict."""
    description = read_description(folder)
    model = build_model(description.model, description.vocabulary)
    tensors, _ = read_tensors(folder / WEIGHTS)
    path = folder / WEIGHTS
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if expected != found:
        odd = sorted(set(expected.items()) ^ set(found.items()))[0][0]
        raise HardalignError(
            f"{path}: weights do not fit {CONFIG} and {VOCABULARY}, first at {odd}"
        )
    model.load_state_dict(tensors)
    return model.eval(), description


def write_tensors(path: Path, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
    """Write tensors with some notes beside them, and a checksum of it all."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(notes, ensure_ascii=False)
    # One entry only: safetensors does not keep the order of several, and equal models should be
    # equal files.
    metadata = {"hardalign": json.dumps({"notes": text, "sha256": _checksum(tensors, text)})}
    write_bytes(path, safetensors.torch.save(tensors, metadata))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read tensors and notes.

    Raises:
        HardalignError: if the file is missing, cut short, or its checksum is wrong.
    """
    if not path.is_file():
        raise HardalignError(f"{path}: no such file; the model folder is incomplete")
    try:
        with safetensors.safe_open(path, "pt") as file:
            metadata = json.loads((file.metadata() or {}).get("hardalign", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError) as error:
        raise HardalignError(f"{path}: damaged: {error}") from error
    text = metadata.get("notes", "")
    if metadata.get("sha256") != _checksum(tensors, text):
        raise HardalignError(f"{path}: damaged: its checksum does not fit its content")
    notes: dict[str, Any] = json.loads(text)
    return tensors, notes


def _checksum(tensors: dict[str, Tensor], text: str) -> str:
    parts = [text.encode()]
    for name in sorted(tensors):
        parts += [name.encode(), tensors[name].numpy().tobytes()]
    return sha256(b"\0".join(parts))
