"""Training as it goes: one line per epoch, and a bar for what is left of all of them."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from hardalign.cli.console import console, note
from hardalign.training.run import Progress as Standing
from hardalign.training.run import Reporter, Run

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

    def begin(self, progress: Standing, run: Run) -> None:
        """Shows what an interrupted run has done already."""
        config = run.description.training
        self.progress, self._epochs = progress, config.epochs
        self._first, self._at_most = progress.epoch, config.recipe == "paper"
        self._console = console()
        self._bar = Progress(
            TextColumn("epoch {task.fields[epoch]} of {task.fields[epochs]}"),
            BarColumn(),
            TextColumn("{task.fields[speed]:.0f} words/s"),
            TextColumn("{task.fields[left]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task(
            "", epoch=progress.epoch + 1, epochs=config.epochs, speed=0.0, left="", total=1.0
        )
        self._bar.start()
        self._console.print(HEADER)
        for row in progress.history:
            self._console.print(_line(row), soft_wrap=True)
        self._started = time.perf_counter()

    def advance(self, pairs: int, total: int) -> None:
        """Moves the bar."""
        elapsed = time.perf_counter() - self._started
        passes = self.progress.epoch - self._first + pairs / total
        left = (self._epochs - self._first - passes) * elapsed / passes
        self._bar.update(
            self._task,
            completed=(self._first + passes) / self._epochs,
            epoch=min(self.progress.epoch + 1, self._epochs),
            speed=passes * total / elapsed,
            left=time_left(left, self._at_most),
        )

    def epoch(self, row: dict[str, Any]) -> None:
        """Prints a complete epoch."""
        self._console.print(_line(row), soft_wrap=True)

    def end(self) -> None:
        """Takes the bar away."""
        self._bar.stop()


def time_left(seconds: float, at_most: bool) -> str:
    """Returns how long it takes until the end, in whole minutes."""
    minutes = max(1, round(seconds / 60))
    hours = f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"
    return f"{'at most ' if at_most else ''}{hours} left"


def _line(row: dict[str, Any]) -> str:
    measured = [
        " " * (width - 1) + "-" if row[name] is None else f"{row[name]:{width}.{digits}f}"
        for name, width, digits in (
            ("dev_log_likelihood", 10, 4),
            ("dev_acc", 8, 2),
            ("dev_mld", 9, 4),
        )
    ]
    return (
        f"{row['epoch']:5d} {row['loss']:8.4f} {' '.join(measured)} {row['learning_rate']:14.3g} "
        f"{row['words_per_second']:8.0f} {row['seconds']:8.1f}{'' if row['best'] else '  not kept'}"
    )
