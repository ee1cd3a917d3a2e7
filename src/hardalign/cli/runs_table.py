"""The runs of a grid as they go: a live table on a terminal, a line per event elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

from rich.live import Live
from rich.table import Table

from hardalign.cli.console import console, note
from hardalign.experiments.engine import State
from hardalign.runs import LOG, Run, epochs_of, read_failures

_STYLES: dict[State, str] = {
    "running": "bold",
    "failed": "red",
    "busy": "yellow",
    "waiting": "dim",
    "done": "green",
    "stopped": "dim",
}
"""What is most worth seeing comes first: a terminal may not have room for all runs."""
_ORDER = list(_STYLES)
_INTERVAL = 1.0
"""Seconds between two readings of the runs' progress from their folders."""


class RunsTable:
    """A ``Watcher`` for people, to be used in a ``with`` statement."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._console = console()
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._states: dict[Run, State] = {}
        self._started = self._shown = time.monotonic()

    def __enter__(self) -> RunsTable:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def update(self, states: dict[Run, State]) -> None:
        """Shows the states, and on a terminal how far each run has come."""
        changed = {run for run, state in states.items() if self._states.get(run) != state}
        first, self._states = not self._states, dict(states)
        if not self._console.is_terminal:
            # At first, what is complete already is no news.
            silent = {"waiting", "done"} if first else {"waiting"}
            for run, state in states.items():
                if run in changed and state not in silent:
                    epoch, accuracy, _ = self._progress(run)
                    progress = f", epoch {epoch}, dev acc {accuracy}" if epoch else ""
                    note(f"{state}: {run.name}{progress}")
            return
        now = time.monotonic()
        if changed or now - self._shown > _INTERVAL:
            self._shown = now
            self._live.update(self._table(), refresh=True)

    def _table(self) -> Table:
        counts = Counter(self._states.values())
        title = ", ".join(f"{counts[state]} {state}" for state in _ORDER if counts[state])
        table = Table(title=f"{title}; {timedelta(seconds=int(time.monotonic() - self._started))}")
        for column in ("run", "state", "epoch", "dev acc", "words/s"):
            table.add_column(column, justify="left" if column in ("run", "state") else "right")
        room = max(1, self._console.height - 6)
        runs = sorted(self._states, key=lambda run: _ORDER.index(self._states[run]))
        for run in runs[:room]:
            state = self._states[run]
            table.add_row(run.name, state, *self._progress(run), style=_STYLES[state])
        if len(runs) > room:
            table.caption = f"and {len(runs) - room} more"
        return table

    def _progress(self, run: Run) -> tuple[str, str, str]:
        """Returns the last epoch, the best accuracy and the speed, empty before the first epoch."""
        rows = epochs_of(self._folder / run.name)
        if not rows:
            return "", "", ""
        epoch, speed = rows[-1]["epoch"], rows[-1]["words_per_second"]
        return str(epoch), f"{max(row['dev_acc'] for row in rows):.2f}", f"{speed:.0f}"


def note_failures(states: dict[Run, State], folder: Path) -> None:
    """Says why runs are not complete, those that failed and those of another command."""
    errors = {failure.run: failure for failure in read_failures(folder)}
    for run, state in states.items():
        if state == "busy":
            note(f"{run.name}: another command is at it")
        elif state == "failed":
            failure, log = errors[run], folder / run.name / LOG
            note(f"{run.name}: {failure.error} (attempt {failure.attempt}; {log})")
