"""One process per run, whatever happens: a lock that its holder's death releases.

It is the kernel's lock on an open file, on NFS the server's: nothing stale is ever left. The file
names the command that the holder works for. So a retry can tell a dying predecessor, for which it
waits, from a second command on the same folder, to which it leaves the run.
"""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

from hardalign.files import make_folder

LOCK = ".lock"
_PAUSE = 0.1


class BusyError(Exception):
    """Another command is at this run."""


@contextlib.contextmanager
def locked(folder: Path, command: str) -> Iterator[None]:
    """Hold a run's folder, which is created if need be.

    Args:
        folder: Of the run.
        command: Names the `hardalign reproduce` that wants it; other processes of the same command
            are waited for.

    Raises:
        BusyError: If another command holds it.
    """
    make_folder(folder)
    with (folder / LOCK).open("a+", encoding="utf-8") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                file.seek(0)
                if file.read() != command:
                    raise BusyError(folder) from error
                time.sleep(_PAUSE)
        file.truncate(0)
        file.write(command)
        file.flush()
        yield
