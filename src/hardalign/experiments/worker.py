"""The process of one run: ``hardalign.experiments.worker FOLDER COMMAND DEVICE [DATA_DIR]``.

The same on every engine. What it is to do is in the folder's ``run.json``, what it prints goes to
``log.txt``, and its exit status is one of those in ``local.py``. It ends when its standard input
does, which is when whoever started it is gone.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from hardalign.errors import HardalignError
from hardalign.experiments.execute import execute
from hardalign.experiments.local import BUSY, DONE, FAILED
from hardalign.lock import BusyError, locked
from hardalign.runs import read_run, write_failure
from hardalign.training.checkpoint import Progress
from hardalign.training.job import Job, Reporter


class Log(Reporter):
    """A ``Reporter`` that prints a line per epoch."""

    def note(self, text: str) -> None:
        """Print what the user should know."""
        print(time.strftime("%Y-%m-%d %H:%M:%S"), text, flush=True)

    def begin(self, progress: Progress, job: Job) -> None:
        """Say where training starts."""
        self.note(f"{len(job.train)} training pairs, after epoch {progress.epoch}")

    def epoch(self, row: dict[str, Any]) -> None:
        """Print a complete epoch."""
        self.note(
            f"epoch {row['epoch']}: loss {row['loss']:.4f}, dev log p "
            f"{row['dev_log_likelihood']:.4f}, dev acc {row['dev_acc']:.2f}, "
            f"{row['words_per_second']:.0f} words/s"
        )

    def end(self) -> None:
        """Say that it is evaluated now."""
        self.note("end of training")


def work(folder: Path, command: str, device: str, data_dir: Path | None) -> int:
    """Do what the folder says, or record there why that failed.

    Args:
        folder: The folder of the run.
        command: Names the ``hardalign reproduce`` that this process works for.
        device: What to train on.
        data_dir: Where local copies of the corpora are.

    Returns:
        The exit status.
    """
    try:
        with locked(folder, command):
            return _work(folder, device, data_dir)
    except BusyError:
        return BUSY


def _work(folder: Path, device: str, data_dir: Path | None) -> int:
    try:
        execute(read_run(folder), folder, Log(), data_dir=data_dir, device=device)
    except Exception as error:
        known = isinstance(error, HardalignError)
        trace = None if known else traceback.format_exc()
        message = str(error) if known else f"{type(error).__name__}: {error}"
        print(trace or message, flush=True)
        write_failure(folder, message.partition("\n")[0], trace)
        return FAILED
    return DONE


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # nothing is ever written: it returns at the end
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _folder, _command, _device, *_data = sys.argv[1:]
    sys.exit(work(Path(_folder), _command, _device, Path(_data[0]) if _data else None))
