"""Files written whole or not at all, and JSON that says where it is damaged."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from hardalign.errors import HardalignError


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name only once it is complete.

    It is written beside ``path`` and renamed over it at the end. If anything fails, a full disk or
    an interrupt, what stood at ``path`` before still stands there and no fragment is left.

    Raises:
        HardalignError: if the file cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise _unwritable(path, error) from error
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file or none."""
    with whole_file(path) as file:
        file.write(content)


def write_json(path: Path, value: Any) -> None:
    """Write a value as readable JSON, whole or not at all."""
    write_bytes(path, (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode())


def read_json(path: Path) -> Any:
    """Read JSON.

    Raises:
        HardalignError: if the file is missing or is not JSON.
    """
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise HardalignError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise HardalignError(f"{path}: cannot be read as JSON: {error}") from error


def make_folder(path: Path) -> None:
    """Create a folder and its parents, or say why that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def sha256(content: bytes) -> str:
    """Checksum in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _unwritable(path: Path, error: OSError) -> HardalignError:
    return HardalignError(
        f"{path}: cannot be written: {error.strerror or error}; "
        "free some space or choose another place"
    )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
