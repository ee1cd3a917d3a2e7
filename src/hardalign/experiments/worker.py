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
from hardalign.files import BusyError, locked
from hardalign.runs import read_run, write_failure
from hardalign.training.checkpoint import Progress
from hardalign.training.job import Job, Reporter


class Log(Reporter):
    """A ``Reporter`` that prints a line per epoch."""

    def note(self, text: str) -> None:
        """Prints what the user should know."""
        print(time.strftime("%Y-%m-%d %H:%M:%S"), text, flush=True)

    def begin(self, progress: Progress, job: Job) -> None:
        """Says where training starts."""
        self.note(f"{len(job.train)} training pairs, after epoch {progress.epoch}")

    def epoch(self, row: dict[str, Any]) -> None:
        """Prints a complete epoch."""
        self.note(
            f"epoch {row['epoch']}: loss {row['loss']:.4f}, dev log p "
            f"{row['dev_log_likelihood']:.4f}, dev acc {row['dev_acc']:.2f}, "
            f"{row['words_per_second']:.0f} words/s"
        )

    def end(self) -> None:
        """Says that training is over."""
        self.note("end of training")


def work(folder: Path, command: str, device: str, data_dir: Path | None) -> int:
    """Does what the folder says, or records there why that failed; returns the exit status.

    ``command`` names the ``hardalign reproduce`` that this process works for.
    """
    try:
        with locked(folder, command):
            try:
                execute(read_run(folder), folder, Log(), data_dir=data_dir, device=device)
            except Exception as error:
                _record(folder, error)
                return FAILED
    except BusyError:
        return BUSY
    return DONE


def _record(folder: Path, error: Exception) -> None:
    known = isinstance(error, HardalignError)
    trace = None if known else "".join(traceback.format_exception(error))
    message = str(error) if known else f"{type(error).__name__}: {error}"
    print(trace or message, flush=True)
    write_failure(folder, message.partition("\n")[0], trace)


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # nothing is ever written: it returns at the end
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _folder, _command, _device, *_data = sys.argv[1:]
    sys.exit(work(Path(_folder), _command, _device, Path(_data[0]) if _data else None))
