"""Training as it goes: one line per epoch, and a bar for the running one."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from hardalign.cli.console import console, note
from hardalign.training.checkpoint import Progress as Standing
from hardalign.training.job import Job, Reporter

HEADER = "epoch     loss  dev log p  dev acc  distance  learning rate  words/s  seconds"


class TrainingProgress(Reporter):
    """A ``Reporter`` for people. The bar shows on a terminal only, the lines always."""

    progress: Standing
    """How far training has come, once it has begun."""
    _console: Console
    _bar: Progress
    _task: TaskID

    def note(self, text: str) -> None:
        """Passes on what the user should know."""
        note(text)

    def begin(self, progress: Standing, job: Job) -> None:
        """Shows what an interrupted run has done already."""
        self.progress = progress
        self._console = console()
        self._epochs = job.description.training.epochs
        self._bar = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(),
            TextColumn("{task.fields[speed]:.0f} words/s"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", epoch=progress.epoch + 1, speed=0.0, left="")
        self._bar.start()
        self._console.print(HEADER)
        for row in progress.history:
            self._console.print(_line(row), soft_wrap=True)
        self._started = time.perf_counter()

    def advance(self, pairs: int, total: int) -> None:
        """Moves the bar."""
        elapsed = time.perf_counter() - self._started
        epoch = self._bar.tasks[0].fields["epoch"]
        left = elapsed / pairs * (total - pairs + total * (self._epochs - epoch))
        self._bar.update(
            self._task,
            completed=pairs,
            total=total,
            speed=pairs / elapsed,
            left=f"at most {timedelta(seconds=int(left))} left",
        )

    def epoch(self, row: dict[str, Any]) -> None:
        """Prints a complete epoch."""
        self._console.print(_line(row), soft_wrap=True)
        self._bar.update(self._task, completed=0, epoch=row["epoch"] + 1)
        self._started = time.perf_counter()

    def end(self) -> None:
        """Takes the bar away."""
        self._bar.stop()


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['epoch']:5d} {row['loss']:8.4f} {row['dev_log_likelihood']:10.4f} "
        f"{row['dev_acc']:8.2f} {row['dev_mld']:9.4f} {row['learning_rate']:14.3g} "
        f"{row['words_per_second']:8.0f} {row['seconds']:8.1f}{'  best' if row['best'] else ''}"
    )
