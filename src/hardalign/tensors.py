"""Arrays in a safetensors file with notes and a checksum; its header is judged before its content.

No torch, and never pickle.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from hardalign.errors import HardalignError
from hardalign.files import check_regular, explained, write_bytes
from hardalign.records import parse_json

Tensors = dict[str, NDArray[Any]]

TYPES = ("F16", "F32", "F64")
"""What numbers may be; others have no place in a model, and some none in NumPy."""


def write_tensors(path: Path, tensors: Mapping[str, NDArray[Any]], notes: dict[str, Any]) -> None:
    """Write arrays with some notes beside them, and a checksum of it all."""
    # 0-dimensional arrays would become 1-dimensional by ascontiguousarray.
    tensors = {name: np.require(array, requirements="C") for name, array in tensors.items()}
    text = json.dumps(notes, ensure_ascii=False)
    # One entry only: safetensors does not keep the order of several, and equal models should be
    # equal files.
    metadata = {"hardalign": json.dumps({"notes": text, "sha256": _checksum(tensors, text)})}
    write_bytes(path, safetensors.numpy.save(dict(tensors), metadata))


def read_tensors(
    path: Path, check: Callable[[dict[str, tuple[int, ...]]], None] = lambda _: None
) -> tuple[Tensors, dict[str, Any]]:
    """Read arrays and notes.

    Args:
        path: What ``write_tensors`` wrote.
        check: Is shown the shapes of all arrays before any of them is read, and may refuse them.

    Raises:
        HardalignError: If the file is missing, cut short, foreign, or its checksum is wrong.
    """
    with explained(path, "read"):
        if not path.exists():
            raise HardalignError(f"{path}: no such file; the model folder is incomplete")
        check_regular(path)
        with path.open("rb"):
            pass  # safetensors would call a file damaged that may not be read
        try:
            with safetensors.safe_open(path, "np") as file:
                metadata = (file.metadata() or {}).get("hardalign")
                names = list(file.keys())
                slices = {name: file.get_slice(name) for name in names}
                for name, entry in slices.items():
                    if entry.get_dtype() not in TYPES:
                        raise HardalignError(
                            f"{path}: {name:.100} holds {entry.get_dtype()} numbers; "
                            f"only {', '.join(TYPES)} are read"
                        )
                check({name: tuple(entry.get_shape()) for name, entry in slices.items()})
                tensors = {name: file.get_tensor(name) for name in names}
        except safetensors.SafetensorError as error:
            raise HardalignError(f"{path}: damaged: {error}") from error
    if metadata is None:
        raise HardalignError(f"{path}: was not written by hardalign: it has no checksum")
    entry = parse_json(metadata, path)
    if not isinstance(entry, dict) or type(entry.get("notes")) is not str:
        raise HardalignError(f"{path}: damaged: its notes are malformed")
    if entry.get("sha256") != _checksum(tensors, entry["notes"]):
        raise HardalignError(f"{path}: damaged: its checksum does not fit its content")
    notes = parse_json(entry["notes"], path)
    if not isinstance(notes, dict):
        raise HardalignError(f"{path}: damaged: its notes are malformed")
    return tensors, notes


def _checksum(tensors: Mapping[str, NDArray[Any]], text: str) -> str:
    digest = hashlib.sha256(text.encode(errors="surrogatepass"))
    for name in sorted(tensors):
        digest.update(b"\0" + name.encode() + b"\0")
        digest.update(tensors[name].data)
    return digest.hexdigest()
