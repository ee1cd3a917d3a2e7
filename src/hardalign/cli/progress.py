"""Training progress: one line per epoch, and a progress bar over all of them."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from hardalign.cli.console import console, note
from hardalign.training.run import Progress as Standing
from hardalign.training.run import Reporter, Row, Run

HEADER = "epoch     loss  dev log p  dev acc  distance  learning rate  words/s  seconds"


class TrainingBar(Reporter):
    """Progress bar for training, or for one ``part`` of several runs; shown only on a terminal."""

    progress: Standing
    """The progress of training, once it has begun."""

    def __init__(self, part: str = "") -> None:
        self._part = part

    def begin(self, progress: Standing, run: Run) -> None:
        """Show the bar."""
        config = run.description.training
        self.progress, self._console = progress, console()
        self._bar = Progress(
            TextColumn(f"{self._part}epoch {{task.fields[epoch]}} of {config.epochs}"),
            BarColumn(),
            TextColumn("at most" if config.recipe == "paper" else ""),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task(
            "", total=config.epochs, completed=progress.epoch, epoch=progress.epoch + 1
        )
        self._bar.start()

    def advance(self, pairs: int, total: int) -> None:
        """Move the bar."""
        epoch = self.progress.epoch
        self._bar.update(self._task, completed=epoch + pairs / total, epoch=epoch + 1)

    def end(self) -> None:
        """Remove the bar."""
        self._bar.stop()


class TrainingProgress(TrainingBar):
    """A ``Reporter`` for people: beside the bar, a line per epoch everywhere."""

    def note(self, text: str) -> None:
        """Print a note for the user."""
        note(text)

    def begin(self, progress: Standing, run: Run) -> None:
        """Show the epochs already completed."""
        super().begin(progress, run)
        self._console.print(HEADER)
        for row in progress.history:
            self.epoch(row)

    def epoch(self, row: Row) -> None:
        """Print the line of a completed epoch."""
        # None without development data.
        columns = (
            (row["dev_log_likelihood"], 10, 4),
            (row["dev_acc"], 8, 2),
            (row["dev_mld"], 9, 4),
        )
        on_dev = (
            f"{'-':>{width}}" if value is None else f"{value:{width}.{digits}f}"
            for value, width, digits in columns
        )
        line = (
            f"{row['epoch']:5d} {row['loss']:8.4f} {' '.join(on_dev)} "
            f"{row['learning_rate']:14.3g} {row['words_per_second']:8.0f} {row['seconds']:8.1f}"
        )
        self._console.print(line if row["best"] else f"{line}  not kept", soft_wrap=True)
