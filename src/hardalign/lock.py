"""One process at a time per folder: a lock that its holder's death releases."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from hardalign.errors import HardalignError
from hardalign.files import make_folder

LOCK, HOLDER = ".lock", ".holder"
_PAUSE = 0.1


class BusyError(HardalignError):
    """Another process is at work in the folder."""


@contextlib.contextmanager
def locked(folder: Path, holder: str) -> Iterator[None]:
    """Hold a folder, which is created if need be, as long as the context lasts.

    Args:
        folder: The folder to write to.
        holder: Names what this process works for. A process that works for the same, such as a
            predecessor that is about to die, is waited for; any other is left alone.

    Raises:
        BusyError: If another holder has it.
    """
    make_folder(folder)
    lock, name = FileLock(folder / LOCK), folder / HOLDER
    while True:
        try:
            lock.acquire(timeout=0)
            break
        except Timeout:
            other = name.read_text("utf-8") if name.exists() else "another process"
            if other != holder:
                raise BusyError(f"{folder}: {other} is at work in this folder") from None
            time.sleep(_PAUSE)
    try:
        name.write_text(holder, "utf-8")
        yield
    finally:
        lock.release()
