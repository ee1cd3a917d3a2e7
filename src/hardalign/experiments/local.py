"""The engine ``local``: processes on this machine, one thread each."""

from __future__ import annotations

import subprocess
import time

from hardalign.errors import HardalignError
from hardalign.experiments.process import Circumstances, Outcome, outcome, start, stop
from hardalign.experiments.runs import Run, failures_of

_PAUSE = 0.1
"""Seconds between two looks at the processes."""


class Local:
    """An ``Engine`` of so many processes at a time."""

    def __init__(self, circumstances: Circumstances, workers: int) -> None:
        if workers < 1:
            raise HardalignError(f"--workers must be at least 1, not {workers}")
        self._circumstances = circumstances
        self._workers = workers
        self._running: dict[Run, tuple[subprocess.Popen[bytes], int]] = {}

    def free(self) -> int:
        """How many processes more there may be."""
        return self._workers - len(self._running)

    def start(self, run: Run) -> None:
        """Start the process of a run."""
        folder = self._circumstances.folder / run.name
        failures = failures_of(folder)
        self._running[run] = start(folder, self._circumstances), failures

    def ended(self) -> list[tuple[Run, Outcome]]:
        """The runs whose process has ended."""
        found: list[tuple[Run, Outcome]] = []
        for run, (process, failures) in list(self._running.items()):
            status = process.poll()
            if status is not None:
                del self._running[run]
                process.communicate()  # closes the pipe
                folder = self._circumstances.folder / run.name
                found.append((run, outcome(folder, status, failures)))
        if not found:
            time.sleep(_PAUSE)
        return found

    def stop(self, run: Run) -> None:
        """Kill the process of a run."""
        process, _ = self._running.pop(run)
        stop(process)

    def close(self) -> None:
        """Kill all processes."""
        for run in list(self._running):
            self.stop(run)
