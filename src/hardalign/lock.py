"""One process at a time per folder: a lock that its holder's death releases.

It is the operating system's lock on an open file: nothing stale is ever left. Who holds it stands
in a file beside it, because some systems let nobody read a file that is locked.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from hardalign.errors import HardalignError
from hardalign.files import explained, make_folder, read_bytes
from hardalign.records import write_json

LOCK, HOLDER = ".lock", ".holder"
_GRACE = 0.5
"""Seconds for a holder to say who it is, or to end: a killed process drops its locks one by one."""


class BusyError(HardalignError):
    """Another process is at work in the folder."""


@contextlib.contextmanager
def locked(folder: Path, holder: str) -> Iterator[None]:
    """Hold a folder, which is created if need be, as long as the context lasts.

    Args:
        folder: What to hold. The lock's file stays in it: removing it would not be safe.
        holder: Names what this process works for. A process that works for the same, such as a
            predecessor that is about to die, is waited for; any other is left alone.

    Raises:
        BusyError: If another holder has it, with its process, machine and command.
        HardalignError: If the folder cannot be written.
    """
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
            with explained(folder, "written"):
                raise
    try:
        with explained(folder, "written"):
            # Whatever is there, a link or a pipe, is not written to.
            (folder / HOLDER).unlink(missing_ok=True)
        write_json(folder / HOLDER, record)
        yield
    finally:
        with contextlib.suppress(OSError):
            (folder / HOLDER).unlink()
        lock.release()


def _read_holder(path: Path) -> dict[str, Any]:
    """Returns who holds the lock; nothing where nobody can know, as just after it was taken."""
    try:
        record = json.loads(read_bytes(path, 1 << 16))
    except (HardalignError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _described(record: dict[str, Any]) -> str:
    who = (
        f"process {record['process']} on {record['machine']} ({record['command']})"
        if {"process", "machine", "command"} <= record.keys()
        else "another process"
    )
    return f"{who} is at work in this folder; wait for its end, or choose another folder"
