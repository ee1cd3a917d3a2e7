"""Runs that take a moment."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from hardalign.experiments.engine import Outcome, State
from hardalign.experiments.local import Circumstances
from hardalign.experiments.worker import work
from hardalign.files import make_folder, write_bytes, write_json
from hardalign.model_folder import METRICS
from hardalign.runs import LOG, MODEL, RESULT, Result, Run, write_failure

TINY = {"words": 60, "epochs": 2, "embedding": 8, "encoder": 8, "decoder": 8}


def tiny_run(system: str = "hard", seed: int = 0, **overrides: Any) -> Run:
    """A run on a few made-up words."""
    return Run("toy:copy", system, "small", seed, {**TINY, **overrides})


class Memory:
    """A watcher that remembers the states it was told, each change once."""

    def __init__(self) -> None:
        self.seen: list[dict[Run, State]] = []

    def update(self, states: dict[Run, State]) -> None:
        if not self.seen or self.seen[-1] != states:
            self.seen.append(dict(states))


class Here:
    """In place of ``start_process``: the run is done in this process, which has imported torch."""

    def __init__(self, folder: Path, circumstances: Circumstances) -> None:
        with (folder / LOG).open("a") as log, redirect_stdout(log):
            self.returncode = work(
                folder, circumstances.command, circumstances.device, circumstances.data_dir
            )

    def poll(self) -> int:
        return self.returncode

    def communicate(self) -> None:
        """There is no pipe to close."""


class Scripted:
    """An engine without processes: a run has one more epoch each time one asks what has ended."""

    def __init__(
        self,
        folder: Path,
        workers: int = 2,
        *,
        score: Callable[[Run], Sequence[float]] = lambda run: [-1.0],
        outcome: Callable[[Run], Outcome] = lambda run: "done",
    ) -> None:
        """Say how runs go.

        Args:
            folder: Of the grid.
            workers: How many runs there may be at a time.
            score: The development log-likelihoods of a run's epochs.
            outcome: How a run ends.
        """
        self._folder, self._workers = folder, workers
        self._score, self._outcome = score, outcome
        self._running: dict[Run, int] = {}
        self.started: list[Run] = []
        self.stopped: list[Run] = []
        self.closed = False

    def free(self) -> int:
        return self._workers - len(self._running)

    def start(self, run: Run) -> None:
        assert self.free() > 0
        self.started.append(run)
        self._running[run] = 0

    def ended(self) -> list[tuple[Run, Outcome]]:
        found: list[tuple[Run, Outcome]] = []
        for run in list(self._running):
            self._running[run] += 1
            scores = self._score(run)[: self._running[run]]
            write_epochs(self._folder / run.name, scores)
            if len(scores) == len(self._score(run)):
                del self._running[run]
                outcome = self._outcome(run)
                found.append((run, outcome))
                if outcome == "done":
                    write_json(self._folder / run.name / RESULT, result_of(run).to_dict())
                elif outcome == "failed":
                    write_failure(self._folder / run.name, "as told")
        return found

    def stop(self, run: Run) -> None:
        del self._running[run]
        self.stopped.append(run)

    def close(self) -> None:
        self.closed = True


def write_epochs(folder: Path, scores: Sequence[float], speed: float = 100.0) -> None:
    """Write the metrics of a run of 1000 words, validated in a quarter of the time."""
    make_folder(folder / MODEL)
    rows = (
        {
            "epoch": epoch,
            "dev_log_likelihood": score,
            "dev_acc": 10.0 * epoch,
            "words_per_second": speed,
            "seconds": 1.25 * 1000 / speed,
        }
        for epoch, score in enumerate(scores, start=1)
    )
    write_bytes(folder / MODEL / METRICS, "".join(json.dumps(row) + "\n" for row in rows).encode())


def result_of(run: Run) -> Result:
    """Some result."""
    return Result(run, {"n": 2, "acc": 50.0}, 10, 1, 2.5, 2, [1, 0], "ab", "0.1.0")
