"""Whole files or none, checksums, JSON, records in JSON, and locks on folders."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shlex
import socket
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
except ImportError:  # Windows, which lets nobody remove a file that is open
    fcntl = None  # type: ignore[assignment]

FRAGMENT = ".part"
"""Ends the names of files that are still being written; a killed process leaves such a file."""
JSON_LIMIT = 1 << 26
"""Bytes of the largest JSON file that is read."""
JSON_DEPTH = 50
"""How deep lists and objects may be nested in it."""
LOCK, HOLDER = ".lock", ".holder"
"""The file that is locked, and who has locked it: some systems let nobody read a locked file."""
_GRACE = 0.5
"""Seconds for a holder to say who it is, or to end: a killed process drops its locks one by one."""

Record = TypeVar("Record")


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name only once it is complete.

    It is written beside ``path`` and renamed over it at the end. If anything fails, a full disk or
    an interrupt, what stood at ``path`` before still stands there and no fragment is left; only a
    process that is killed leaves one, which the next that writes the file removes. A file that is
    replaced keeps its mode, and a symbolic link goes on pointing to it. What is no regular file, a
    device or a pipe, is written to as it is.
    """
    with os_errors_named(path, "written"):
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
    """Remove what killed processes left in a folder: fragments that nobody is writing any more."""
    with contextlib.suppress(OSError):
        for fragment in folder.iterdir():
            if fragment.name.startswith(beginning) and fragment.name.endswith(FRAGMENT):
                with contextlib.suppress(OSError):
                    _remove_abandoned(fragment)


def _remove_abandoned(fragment: Path) -> None:
    """Remove a fragment, or raise an ``OSError`` if its writer lives or that cannot be known."""
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
    """Refuse what may have no end, or cannot be read twice: devices, pipes and folders."""
    if path.exists() and not path.is_file():
        raise HardalignError(f"{path}: is not a regular file")


def make_folder(path: Path) -> None:
    """Create a folder and its parents, or say why that cannot be."""
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
    """Turn an ``OSError`` into one line: ``path`` cannot be read, or written."""
    try:
        yield
    except OSError as error:
        problem = f"{path}: cannot be {action}: {error.strerror or error}"
        if action == "written":
            problem += f"; {_ADVICE.get(error.errno or 0, 'choose another place')}"
        raise HardalignError(problem) from error


@contextlib.contextmanager
def located(place: object) -> Iterator[None]:
    """Put a place, such as a file or a key, in front of messages about what is there."""
    try:
        yield
    except HardalignError as error:
        raise HardalignError(f"{place}: {error}") from error


def sha256(content: bytes) -> str:
    """Return a checksum in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


_BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would otherwise change line ends


def _status(path: Path) -> os.stat_result | None:
    """Return what is at a path, links followed; None if there is nothing."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_stream(path: Path, status: os.stat_result | None) -> bool:
    """Return whether to write to what is there instead of replacing it.

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


def write_json(path: Path, value: Any) -> None:
    """Write a value as readable JSON, whole or not at all."""
    write_bytes(path, json_bytes(value))


def json_bytes(value: Any) -> bytes:
    """Return a value as readable JSON; file names that are not UTF-8 survive in it."""
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return text.encode(errors="surrogatepass")


def read_json(path: Path) -> Any:
    """Read a JSON file of at most ``JSON_LIMIT`` bytes."""
    return parse_json(read_bytes(path), path)


def parse_json(content: str | bytes, path: Path) -> Any:
    """Return the value of JSON that was read from ``path``."""
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
    """Build a dataclass, called ``what`` in messages, from its JSON object, checked by msgspec.

    ``extra`` passes over keys that it has no field for, as other versions may write.
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
    """Return whether there are lists or objects below so many levels of them."""
    if not isinstance(value, (dict, list)):
        return False
    children = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deep(child, levels - 1) for child in children)


class BusyError(HardalignError):
    """Another process is at work in the folder."""


@contextlib.contextmanager
def locked(folder: Path, holder: str) -> Iterator[None]:
    """Hold a folder, which is created if need be, as long as the context lasts.

    ``holder`` names what this process works for. A process that works for the same, such as a
    predecessor that is about to die, is waited for; any other is named in a ``BusyError``. The
    lock's file stays in the folder: removing it would not be safe.
    """
    from filelock import FileLock, Timeout

    make_folder(folder)
    lock = FileLock(folder / LOCK)
    record = {
        "holder": holder,
        "process": os.getpid(),
        "machine": socket.gethostname(),
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
            # Whatever is there, a link or a pipe, is not written to.
            (folder / HOLDER).unlink(missing_ok=True)
        write_json(folder / HOLDER, record)
        yield
    finally:
        with contextlib.suppress(OSError):
            (folder / HOLDER).unlink()
        lock.release()


def _read_holder(path: Path) -> dict[str, Any]:
    """Return who holds the lock; nothing where nobody can know, as just after it was taken."""
    try:
        record = read_json(path)
    except HardalignError:
        return {}
    return record if isinstance(record, dict) else {}


def _described(record: dict[str, Any]) -> str:
    who = "another process"
    if {"process", "machine", "command"} <= record.keys():
        who = f"process {record['process']} on {record['machine']} ({record['command']})"
    return f"{who} is at work in this folder; wait for its end, or choose another folder"
