"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from hardalign.errors import HardalignError

try:
    import fcntl
except ImportError:  # Windows, which lets nobody remove a file that is open
    fcntl = None  # type: ignore[assignment]

FRAGMENT = ".part"
"""Ends the names of files that are still being written; a killed process leaves such a file."""


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name only once it is complete.

    It is written beside ``path`` and renamed over it at the end. If anything fails, a full disk or
    an interrupt, what stood at ``path`` before still stands there and no fragment is left; only a
    process that is killed leaves one, which the next that writes the file removes. A file that is
    replaced keeps its mode, and a symbolic link goes on pointing to it. What is no regular file, a
    device or a pipe, is written to as it is.

    Raises:
        HardalignError: If the file cannot be written.
    """
    with explained(path, "written"):
        before = _status(path)
        if _is_stream(path, before):
            with path.open("wb") as file:
                yield file
            return
        target = Path(os.path.realpath(path))
        # The name is cut because it grows here, and may already be as long as names can be.
        beginning = f".{target.name[:60]}."
        remove_fragments(target.parent, beginning)
        mode = 0o666 if before is None else stat.S_IMODE(before.st_mode) & 0o777
        with _new_fragment(target.parent, beginning, mode) as (fragment, handle):
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if before is not None:
                fragment.chmod(stat.S_IMODE(before.st_mode))
            fragment.replace(target)
        _sync_folder(target.parent)


def remove_fragments(folder: Path, beginning: str = ".") -> None:
    """Remove what killed processes left in a folder: fragments that nobody is writing any more.

    Args:
        folder: Where to look; what cannot be removed stays.
        beginning: Of the fragments' names.
    """
    with contextlib.suppress(OSError):
        for fragment in folder.iterdir():
            if fragment.name.startswith(beginning) and fragment.name.endswith(FRAGMENT):
                with contextlib.suppress(OSError):
                    _remove_abandoned(fragment)


def _remove_abandoned(fragment: Path) -> None:
    """Remove a fragment unless its writer lives.

    Raises:
        OSError: If it lives, or that cannot be known.
    """
    if fcntl is None:
        fragment.unlink()
        return
    handle = os.open(fragment, os.O_RDONLY | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fragment.unlink()
    finally:
        os.close(handle)


@contextlib.contextmanager
def _new_fragment(folder: Path, beginning: str, mode: int) -> Iterator[tuple[Path, int]]:
    """Create a fragment and open it, locked until it has its place; if that fails, it is removed.

    The lock is dropped by the death of whoever holds it.
    """
    keeper = None
    fragment = folder / f"{beginning}{secrets.token_hex(4)}{FRAGMENT}"
    try:
        while keeper is None:
            handle = os.open(fragment, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
            if fcntl is None:
                break
            keeper = os.dup(handle)  # the lock must outlast the writing
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(keeper, fcntl.LOCK_EX)
            if os.fstat(keeper).st_nlink == 0:  # taken for abandoned before it was locked
                os.close(handle)
                os.close(keeper)
                keeper = None
        yield fragment, handle
    except BaseException:
        with contextlib.suppress(OSError):
            fragment.unlink()
        raise
    finally:
        if keeper is not None:
            os.close(keeper)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file or none."""
    with whole_file(path) as file:
        file.write(content)


def read_bytes(path: Path, limit: int) -> bytes:
    """Read a whole file.

    Raises:
        HardalignError: If it cannot be read, is no regular file, or has more than ``limit`` bytes.
    """
    with explained(path, "read"):
        status = _status(path)
        if status is None:
            raise HardalignError(f"{path}: no such file")
        check_regular(path)
        if status.st_size > limit:
            raise HardalignError(f"{path}: has {status.st_size} bytes, more than {limit}")
        return path.read_bytes()


def check_regular(path: Path) -> None:
    """Refuses what may have no end, or cannot be read twice: devices, pipes and folders.

    Raises:
        HardalignError: If there is something at the path, and it is no regular file.
    """
    if path.exists() and not path.is_file():
        raise HardalignError(f"{path}: is not a regular file")


def make_folder(path: Path) -> None:
    """Create a folder and its parents, or say why that cannot be."""
    with explained(path, "written"):
        if path.exists() and not path.is_dir():
            raise HardalignError(f"{path}: is a file, not a folder; choose another one")
        path.mkdir(parents=True, exist_ok=True)


_ADVICE = {
    errno.ENOENT: "make its folder first, or choose another place",
    errno.EISDIR: "this is a folder; name a file",
    errno.ENOSPC: "free some space or choose another place",
    errno.EDQUOT: "free some space or choose another place",
    errno.EFBIG: "free some space or choose another place",
}
"""What to do about a file that cannot be written."""


@contextlib.contextmanager
def explained(path: Path, action: str) -> Iterator[None]:
    """Turn what the operating system refuses into one line: ``path`` cannot be read, or written.

    Raises:
        HardalignError: Instead of an ``OSError``.
    """
    try:
        yield
    except OSError as error:
        advice = ""
        if action == "written":
            advice = f"; {_ADVICE.get(error.errno or 0, 'choose another place')}"
        raise HardalignError(
            f"{path}: cannot be {action}: {error.strerror or error}{advice}"
        ) from error


def sha256(content: bytes) -> str:
    """Checksum in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


_BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would otherwise change line ends


def _status(path: Path) -> os.stat_result | None:
    """What is at a path, links followed; None if there is nothing."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_stream(path: Path, status: os.stat_result | None) -> bool:
    """Whether to write to what is there instead of replacing it.

    Under /dev and /proc even a regular file is one that somebody holds open, such as /dev/stdout.
    """
    if status is None or stat.S_ISDIR(status.st_mode):
        return False
    return not stat.S_ISREG(status.st_mode) or path.absolute().parts[1:2] in (("dev",), ("proc",))


def _sync_folder(folder: Path) -> None:
    """Have a rename survive a power cut, where the system can: Windows opens no folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
