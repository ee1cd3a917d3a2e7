"""Engines: where runs run. And the loop that sees a grid's runs through on any of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from hardalign.files import make_folder
from hardalign.runs import RESULT, Run, write_run

Outcome = Literal["done", "failed", "busy"]
"""How a run ended; another command is at a busy one."""
State = Literal["waiting", "running", "done", "failed", "busy", "stopped"]
"""How a run stands; a stopped one was not worth going on with."""


class Engine(Protocol):
    """Runs runs, several at a time, in folders that have their ``run.json``."""

    def free(self) -> int:
        """Returns how many more runs can be started now."""

    def start(self, run: Run) -> None:
        """Start a run; it goes on where its folder left off."""

    def ended(self) -> list[tuple[Run, Outcome]]:
        """Returns the runs that have ended since the last call; waits a moment if none has."""

    def stop(self, run: Run) -> None:
        """End a run that was started, before its time."""

    def close(self) -> None:
        """End everything."""


class Watcher(Protocol):
    """Is told how a grid goes."""

    def update(self, states: dict[Run, State]) -> None:
        """Receives the states of all runs, again and again, in the order of the plan."""


def prepare(folder: Path, run: Run) -> bool:
    """Make the folder of a run in a grid's folder, and say whether there is anything to do."""
    make_folder(folder / run.name)
    write_run(folder / run.name, run)
    return not (folder / run.name / RESULT).exists()


def run_all(
    runs: Sequence[Run], folder: Path, engine: Engine, watcher: Watcher
) -> dict[Run, State]:
    """Run what is not complete yet; one that fails does not keep the others from running.

    Returns:
        How each run ended: done, failed or busy.
    """
    states: dict[Run, State] = {run: "waiting" if prepare(folder, run) else "done" for run in runs}
    waiting = [run for run, state in states.items() if state == "waiting"]
    running: set[Run] = set()
    watcher.update(states)
    try:
        while waiting or running:
            for _ in range(min(engine.free(), len(waiting))):
                run = waiting.pop(0)
                engine.start(run)
                running.add(run)
                states[run] = "running"
            watcher.update(states)
            for run, outcome in engine.ended():
                running.discard(run)
                states[run] = outcome
        watcher.update(states)
    finally:
        engine.close()
    return states
