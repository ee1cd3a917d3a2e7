"""The engine ``local``: processes on this machine, one thread each.

Each run has a process of its own: one that crashes or is out of memory takes no other with it, and
what it prints is that run's log. ``worker.py`` is what runs in it; the engine ``ray`` starts the
same processes on other machines.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from hardalign.experiments.engine import Outcome
from hardalign.runs import LOG, Run, write_failure

DONE, BUSY, FAILED = 0, 3, 4
"""Exit statuses of a run's process: complete, held by another command, or failed and recorded.
None is one that Python itself or a signal may end a process with."""
_PAUSE = 0.1
"""Seconds between two looks at the processes."""


@dataclass(frozen=True)
class Circumstances:
    """Says what all runs of one command have in common; it travels to other machines."""

    folder: Path
    """The folder of the grid."""
    command: str
    """Tells this command from others on the same folder."""
    data_dir: Path | None = None
    device: str = "auto"


class Local:
    """An ``Engine`` of so many processes at a time."""

    def __init__(self, circumstances: Circumstances, workers: int) -> None:
        self._circumstances, self._workers = circumstances, workers
        self._running: dict[Run, subprocess.Popen[bytes]] = {}

    def free(self) -> int:
        """Returns how many processes more there may be."""
        return self._workers - len(self._running)

    def start(self, run: Run) -> None:
        """Starts the process of a run."""
        folder = self._circumstances.folder / run.name
        self._running[run] = start_process(folder, self._circumstances)

    def ended(self) -> list[tuple[Run, Outcome]]:
        """Returns the runs whose process has ended."""
        ended = [run for run, process in self._running.items() if process.poll() is not None]
        if not ended:
            time.sleep(_PAUSE)
        outcomes = []
        for run in ended:
            process = self._running.pop(run)
            process.communicate()  # closes the pipe
            outcomes.append(
                (run, outcome(self._circumstances.folder / run.name, process.returncode))
            )
        return outcomes

    def stop(self, run: Run) -> None:
        """Kills the process of a run."""
        stop_process(self._running.pop(run))

    def close(self) -> None:
        """Kills all processes."""
        for run in list(self._running):
            self.stop(run)


def start_process(folder: Path, circumstances: Circumstances) -> subprocess.Popen[bytes]:
    """Starts the process of a run whose folder has its ``run.json``.

    It ends with this process, whose end of the pipe to its standard input is closed then.
    """
    arguments = [str(folder), circumstances.command, circumstances.device]
    if circumstances.data_dir is not None:
        arguments.append(str(circumstances.data_dir))
    with (folder / LOG).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "hardalign.experiments.worker", *arguments],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C is for the command, which ends its runs itself
        )


def stop_process(process: subprocess.Popen[bytes]) -> None:
    """Ends a run's process; it goes on from its last epoch when it is started again."""
    process.kill()  # every file is written whole or not at all, so there is nothing to tidy up
    process.communicate()


def outcome(folder: Path, status: int) -> Outcome:
    """Returns what the exit status of a run's process means.

    A process that died without recording its failure gets it recorded here.
    """
    if status == DONE:
        return "done"
    if status == BUSY:
        return "busy"
    if status != FAILED:
        write_failure(folder, f"its process {describe_exit(status)}")
    return "failed"


def describe_exit(status: int) -> str:
    """Returns in words how a process ended."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was killed by {signal.Signals(-status).name}"
