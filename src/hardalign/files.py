"""Atomic writes, checksums, JSON, records in JSON, and folder locks."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
import shlex
import stat
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from hardalign.errors import HardalignError

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed
    fcntl = None  # type: ignore[assignment]

FRAGMENT = ".part"
"""Suffix of a file that is still being written; a killed process leaves it behind."""
JSON_LIMIT = 1 << 26
"""Maximum size in bytes of a file read whole, such as JSON."""
JSON_DEPTH = 50
"""Maximum nesting depth of JSON lists and objects."""
LOCK, HOLDER = ".lock", ".holder"
"""The lock file, and a file that names its holder: some systems forbid reading a locked file."""
_GRACE = 0.5
"""Seconds a holder has to name itself, or to exit: a killed process drops its locks one by one."""

Record = TypeVar("Record")


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for atomic writing.

    A fragment beside ``path`` is renamed over it once complete. On failure, such as a full disk or
    an interrupt, the old file stays and the fragment is removed; only a killed process leaves one,
    which the next write of the file removes. A replaced file keeps its mode, and a symbolic link
    still points to it. What is not a regular file (a device or a pipe) is written to in place.
    """
    with os_errors_named(path, "written"):
        before = _status(path)
        if _is_stream(path, before):
            with path.open("wb") as file:
                yield file
            return
        target = Path(os.path.realpath(path))
        # Truncated, because the name grows here and may already have the maximum length.
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
    """Remove the fragments that killed processes left in a folder."""
    with contextlib.suppress(OSError):
        for fragment in folder.iterdir():
            if fragment.name.startswith(beginning) and fragment.name.endswith(FRAGMENT):
                with contextlib.suppress(OSError):
                    _remove_abandoned(fragment)


def _remove_abandoned(fragment: Path) -> None:
    """Remove a fragment; raise an ``OSError`` if its writer is, or may be, still alive."""
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
    """Create and open a fragment, locked until the context ends; remove it on failure.

    The lock is released if the process dies.
    """
    keeper = None
    fragment = folder / f"{beginning}{os.urandom(4).hex()}{FRAGMENT}"
    try:
        while keeper is None:
            handle = os.open(fragment, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
            if fcntl is None:
                break
            keeper = os.dup(handle)  # the lock must outlast the writing
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(keeper, fcntl.LOCK_EX)
            if os.fstat(keeper).st_nlink == 0:  # removed as abandoned before it was locked
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
    """Write a file atomically."""
    with whole_file(path) as file:
        file.write(content)


def read_bytes(path: Path) -> bytes:
    """Read a regular file of at most ``JSON_LIMIT`` bytes."""
    with os_errors_named(path, "read"):
        status = _status(path)
        if status is None:
            raise HardalignError(f"{path}: no such file")
        check_regular(path)
        if status.st_size > JSON_LIMIT:
            raise HardalignError(f"{path}: has {status.st_size} bytes, more than {JSON_LIMIT}")
        return path.read_bytes()


def check_regular(path: Path) -> None:
    """Reject devices and pipes, which may be endless or readable only once, and folders."""
    if path.exists() and not path.is_file():
        raise HardalignError(f"{path}: is not a regular file")


def make_folder(path: Path) -> None:
    """Create a folder and its parents, or raise an error that says why not."""
    with os_errors_named(path, "written"):
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
def os_errors_named(path: Path, action: str) -> Iterator[None]:
    """Turn an ``OSError`` into a one-line error: ``path`` cannot be read, or written."""
    try:
        yield
    except OSError as error:
        problem = f"{path}: cannot be {action}: {error.strerror or error}"
        if action == "written":
            problem += f"; {_ADVICE.get(error.errno or 0, 'choose another place')}"
        raise HardalignError(problem) from error


@contextlib.contextmanager
def located(place: object) -> Iterator[None]:
    """Prefix error messages with a place, such as a file or a key."""
    try:
        yield
    except HardalignError as error:
        raise HardalignError(f"{place}: {error}") from error


def sha256(content: bytes) -> str:
    """Return the SHA-256 checksum in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


_BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would otherwise translate line endings


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a path, following links; None if nothing is there."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_stream(path: Path, status: os.stat_result | None) -> bool:
    """Return whether to write to a path in place instead of replacing it.

    Under /dev and /proc, even a regular file is one that a process holds open, such as /dev/stdout.
    """
    if status is None or stat.S_ISDIR(status.st_mode):
        return False
    return not stat.S_ISREG(status.st_mode) or path.absolute().parts[1:2] in (("dev",), ("proc",))


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where possible: Windows cannot open folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON, atomically."""
    write_bytes(path, json_bytes(value))


def json_bytes(value: Any) -> bytes:
    """Return a value as indented JSON; file names that are not UTF-8 survive."""
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return text.encode(errors="surrogatepass")


def read_json(path: Path) -> Any:
    """Read a JSON file of at most ``JSON_LIMIT`` bytes."""
    return parse_json(read_bytes(path), path)


def parse_json(content: str | bytes, path: Path) -> Any:
    """Parse JSON that was read from ``path``."""
    try:
        value = json.loads(content, parse_constant=_refuse)
        if not _is_deep(value, JSON_DEPTH):
            return value
    except ValueError as error:
        raise HardalignError(f"{path}: cannot be read as JSON: {error}") from error
    except RecursionError:
        pass
    raise HardalignError(f"{path}: cannot be read as JSON: it is nested too deeply")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def build_record(kind: type[Record], values: object, what: str, *, extra: bool = False) -> Record:
    """Build a dataclass, called ``what`` in messages, from a JSON object, validated by msgspec.

    ``extra`` ignores unknown keys, which other versions may have written.
    """
    if isinstance(values, dict) and not extra:
        known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
        if unknown := values.keys() - known:
            raise HardalignError(f"{what} has an unknown entry {min(unknown)!r:.100}")
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise HardalignError(f"{what} is damaged: {error}") from error


def _is_deep(value: Any, levels: int) -> bool:
    """Return whether lists and objects are nested more than ``levels`` deep."""
    if not isinstance(value, (dict, list)):
        return False
    children = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deep(child, levels - 1) for child in children)


class BusyError(HardalignError):
    """Another process is using the folder."""


@contextlib.contextmanager
def locked(folder: Path, holder: str) -> Iterator[None]:
    """Lock a folder for the duration of the context, creating it if necessary.

    ``holder`` names the job of this process. If another process holds the lock for the same job,
    such as a predecessor about to die, wait for it; otherwise raise a ``BusyError`` that names it.
    The lock file stays in the folder: removing it would not be safe.
    """
    from filelock import FileLock, Timeout

    make_folder(folder)
    lock = FileLock(folder / LOCK)
    record = {
        "holder": holder,
        "process": os.getpid(),
        "machine": platform.node(),
        "command": shlex.join(sys.argv),
    }
    while True:
        try:
            lock.acquire(timeout=_GRACE)
            break
        except Timeout:
            other = _read_holder(folder / HOLDER)
            if other.get("holder") != holder:
                raise BusyError(f"{folder}: {_described(other)}") from None
        except OSError:
            with os_errors_named(folder, "written"):
                raise
    try:
        with os_errors_named(folder, "written"):
            # If a link or a pipe is there, it must not be written to.
            (folder / HOLDER).unlink(missing_ok=True)
        write_json(folder / HOLDER, record)
        yield
    finally:
        with contextlib.suppress(OSError):
            (folder / HOLDER).unlink()
        lock.release()


def _read_holder(path: Path) -> dict[str, Any]:
    """Return who holds the lock; empty if unknown, as just after it was taken."""
    try:
        record = read_json(path)
    except HardalignError:
        return {}
    return record if isinstance(record, dict) else {}


def _described(record: dict[str, Any]) -> str:
    who = "another process"
    if {"process", "machine", "command"} <= record.keys():
        who = f"process {record['process']} on {record['machine']} ({record['command']})"
    return f"{who} is at work in this folder; wait until it ends, or choose another folder"
