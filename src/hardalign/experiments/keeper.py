"""Run folders for machines that do not share a disk with the command's.

The keeper lives beside the command and holds the folders; a task on another machine works on a
copy, and hands in what has changed after every epoch. So a run whose machine dies goes on elsewhere
from its last epoch, as it does on shared storage.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from hardalign.experiments.lock import BusyError, locked
from hardalign.experiments.process import Circumstances
from hardalign.experiments.runs import FAILURE, RESULT
from hardalign.files import make_folder, write_bytes

Files = dict[str, bytes]
"""Contents by path inside a run's folder."""


class Keeper:
    """Lends out run folders, each to one task at a time."""

    def __init__(self, circumstances: Circumstances) -> None:
        self._circumstances = circumstances
        self._held: dict[str, contextlib.ExitStack] = {}
        self._loans: dict[str, int] = {}

    def lend(self, name: str) -> tuple[int, Files] | None:
        """A run's files with the number of the loan; None if another command has them.

        A new loan ends an earlier one of the same run, whose task must have died.
        """
        folder = self._circumstances.folder / name
        if name not in self._held:
            stack = contextlib.ExitStack()
            try:
                stack.enter_context(locked(folder, self._circumstances.command))
            except BusyError:
                return None
            self._held[name] = stack
        self._loans[name] = self._loans.get(name, 0) + 1
        return self._loans[name], Snapshot(folder).changes()

    def hand_in(self, name: str, loan: int, files: Files) -> None:
        """Store files of a loan, unless the run has been lent to another task since."""
        if loan == self._loans[name]:
            store(self._circumstances.folder / name, files)

    def give_back(self, name: str) -> None:
        """End a loan."""
        self._held.pop(name).close()


class Snapshot:
    """Knows which files of a folder have changed since it last looked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[str, tuple[int, int]] = {}

    def changes(self) -> Files:
        """The contents of new and changed files; what says that a run is complete comes last."""
        files = {}
        for path in sorted(self._folder.rglob("*"), key=lambda path: path.name == RESULT):
            name = path.relative_to(self._folder).as_posix()
            # Hidden files are the lock, and those that are not yet whole and may vanish.
            if path.name.startswith(".") or not path.is_file():
                continue
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                mark = status.st_mtime_ns, status.st_ino
                if self._seen.get(name) != mark:
                    files[name] = path.read_bytes()
                    self._seen[name] = mark
        return files


def store(folder: Path, files: Files) -> None:
    """Write files to a folder, each of them whole."""
    for name, content in files.items():
        make_folder((folder / name).parent)
        write_bytes(folder / name, content)
    if RESULT in files:
        (folder / FAILURE).unlink(missing_ok=True)
