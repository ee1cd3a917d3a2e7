"""How a run's process is started and what its end means; ``worker.py`` is what runs in it.

A process of its own for each run: one that crashes or is out of memory takes no other with it, and
what it prints is that run's log.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hardalign.experiments.runs import LOG, failures_of, write_failure

DONE, FAILED, BUSY = 0, 1, 3
"""Exit statuses of a run's process: complete, failed and recorded, or held by another command."""

Outcome = Literal["done", "failed", "busy"]


@dataclass(frozen=True)
class Circumstances:
    """What all runs of one command have in common. Travels to other machines."""

    folder: Path
    """Of the grid."""
    command: str
    """Tells this command from others on the same folder."""
    data_dir: Path | None = None
    device: str = "auto"


def start(folder: Path, circumstances: Circumstances) -> subprocess.Popen[bytes]:
    """Start the process of a run whose folder has its ``run.json``.

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


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a run's process; it goes on from its last epoch when it is started again."""
    process.kill()  # every file is written whole or not at all, so there is nothing to tidy up
    process.communicate()


def outcome(folder: Path, status: int, failures: int) -> Outcome:
    """What the end of a run's process means; one that could not record its failure gets it here.

    Args:
        folder: Of the run.
        status: With which the process ended.
        failures: How many failures were recorded before it started.
    """
    if status == DONE:
        return "done"
    if status == BUSY:
        return "busy"
    if failures_of(folder) == failures:
        write_failure(folder, f"its process {describe(status)}; see {folder / LOG}")
    return "failed"


def describe(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was killed by {signal.Signals(-status).name}"
