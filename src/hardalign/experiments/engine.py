"""Engines: where runs run. And the loop that sees a grid's runs through on any of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal, Protocol

from hardalign.files import make_folder, write_json
from hardalign.runs import RESULT, Run, epochs_of, write_run

STOPPED = "stopped.json"
"""In the folder of a run that was stopped, with the epoch after which it was."""

Outcome = Literal["done", "failed", "busy"]
"""How a run ended; another command is at a busy one."""
State = Literal["waiting", "running", "done", "failed", "busy", "stopped"]
"""How a run stands; a stopped one was not worth going on with."""


class Engine(Protocol):
    """Runs runs, several at a time, in folders that have their ``run.json``."""

    def free(self) -> int:
        """Returns how many more runs can be started now."""

    def start(self, run: Run) -> None:
        """Starts a run; it goes on where its folder left off."""

    def ended(self) -> list[tuple[Run, Outcome]]:
        """Returns the runs that have ended since the last call; waits a moment if none has."""

    def stop(self, run: Run) -> None:
        """Ends a run that was started, before its time."""

    def close(self) -> None:
        """Ends all runs that were started."""


class Watcher(Protocol):
    """Is told how a grid goes."""

    def update(self, states: dict[Run, State]) -> None:
        """Receives the states of all runs, again and again, in the order of the plan."""


def prepare(folder: Path, run: Run) -> bool:
    """Makes the folder of a run in a grid's folder, and says whether there is anything to do."""
    make_folder(folder / run.name)
    write_run(folder / run.name, run)
    return not (folder / run.name / RESULT).exists()


def run_all(
    runs: Sequence[Run],
    folder: Path,
    engine: Engine,
    watcher: Watcher,
    falls_behind: Callable[[Run], bool] | None = None,
) -> dict[Run, State]:
    """Runs what is not complete yet; one that fails does not keep the others from running.

    Args:
        runs: In the order in which they are started.
        folder: Where their folders are.
        engine: Where they run.
        watcher: Is told how they stand.
        falls_behind: Is asked about each run again and again. A run that falls behind is stopped,
            and stays so when the same runs are asked for again.

    Returns:
        How each run ended: done, failed, busy or stopped.
    """
    states: dict[Run, State] = {}
    with closing(engine):
        for run in runs:
            states[run] = "waiting" if prepare(folder, run) else "done"
            if falls_behind is not None and (folder / run.name / STOPPED).exists():
                states[run] = "stopped"
            if falls_behind is not None and states[run] != "waiting":
                falls_behind(run)  # it is too late to stop, but others are compared with it
        waiting = [run for run, state in states.items() if state == "waiting"]
        running: list[Run] = []
        watcher.update(states)
        while waiting or running:
            for _ in range(min(engine.free(), len(waiting))):
                run = waiting.pop(0)
                engine.start(run)
                running.append(run)
                states[run] = "running"
            watcher.update(states)
            ended = dict(engine.ended())
            for run in running:
                behind = falls_behind is not None and falls_behind(run)
                if run in ended:
                    states[run] = ended[run]
                elif behind:
                    engine.stop(run)
                    run_folder = folder / run.name
                    write_json(run_folder / STOPPED, {"epoch": len(epochs_of(run_folder))})
                    states[run] = "stopped"
            running = [run for run in running if states[run] == "running"]
        watcher.update(states)
    return states
