"""Engines that execute runs, as processes on this machine or on the machines of a Ray cluster.

Each run is a single-threaded process of its own (``worker.py``): a crash affects no other run, and
its output is its log. On a cluster whose machines share a folder, a Ray task starts the same
process; if the machine dies, Ray restarts the task elsewhere, and the run resumes from its last
epoch.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, Protocol

from hardalign.errors import HardalignError, MissingPackageError
from hardalign.experiments.run import LOG, Run, prepare, write_failure
from hardalign.model_folder import RUN

DONE, BUSY, FAILED = 0, 3, 4
"""Exit statuses of a run's process: complete, locked by another command, or failed and recorded.
A crash of Python or a signal causes none of them."""
RETRIES = 5
"""How many machines a run may lose before it counts as failed."""
_PAUSE = 0.1
"""Seconds between polls of the processes."""
_PATIENCE = 10.0
"""Seconds to wait for a cluster's address to answer."""

State = Literal["waiting", "running", "done", "failed", "busy"]
"""The state of a run; ``busy`` means locked by another command."""


class Engine(Protocol):
    """Executes several runs at a time, in folders that already contain ``run.json``."""

    def free(self) -> int:
        """Return how many more runs can be started now."""

    def start(self, run: Run) -> None:
        """Start a run; it resumes where its folder left off."""

    def ended(self) -> list[tuple[Run, State]]:
        """Return the runs that have ended since the last call; wait a moment if none has."""

    def close(self) -> None:
        """Kill all runs in progress."""


def run_all(
    runs: Sequence[Run], folder: Path, engine: Engine, watch: Callable[[dict[Run, State]], None]
) -> dict[Run, State]:
    """Execute the incomplete runs, in order, and close the engine; return the final states.

    The failure of a run does not stop the others. ``watch`` is called repeatedly with all states.
    """
    with closing(engine):
        states: dict[Run, State] = {
            run: "waiting" if prepare(folder, run) else "done" for run in runs
        }
        waiting = [run for run, state in states.items() if state == "waiting"]
        watch(states)
        while {"waiting", "running"} & set(states.values()):
            for _ in range(min(engine.free(), len(waiting))):
                run = waiting.pop(0)
                engine.start(run)
                states[run] = "running"
            watch(states)
            states.update(engine.ended())
        watch(states)
    return states


class Local:
    """Processes on this machine, ``workers`` at a time."""

    def __init__(self, folder: Path, arguments: Sequence[str], workers: int) -> None:
        self._folder, self._arguments, self._workers = folder, arguments, workers
        self._running: dict[Run, subprocess.Popen[bytes]] = {}

    def free(self) -> int:
        return self._workers - len(self._running)

    def start(self, run: Run) -> None:
        self._running[run] = start_process(self._folder / run.name, self._arguments)

    def ended(self) -> list[tuple[Run, State]]:
        ended = [run for run, process in self._running.items() if process.poll() is not None]
        if not ended:
            time.sleep(_PAUSE)
        states = []
        for run in ended:
            process = self._running.pop(run)
            process.communicate()  # closes the pipe
            states.append((run, state_of(self._folder / run.name, process.returncode)))
        return states

    def close(self) -> None:
        while self._running:
            stop_process(self._running.popitem()[1])


def start_process(folder: Path, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the process of a run; it exits with this process, which holds its standard input."""
    with (folder / LOG).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "hardalign.experiments.worker", str(folder), *arguments],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C reaches only the command, which kills its runs
        )


def stop_process(process: subprocess.Popen[bytes]) -> None:
    """Kill a run's process; files are written atomically, so nothing is damaged."""
    process.kill()
    process.communicate()


def state_of(folder: Path, status: int) -> State:
    """Return the state for an exit status; record the failure of a process that could not."""
    if status not in (DONE, BUSY, FAILED):
        write_failure(folder, f"its process {_describe(status)}")
    states: dict[int, State] = {DONE: "done", BUSY: "busy"}
    return states.get(status, "failed")


def _describe(status: int) -> str:
    killed = f"was killed by {signal.Signals(-status).name}" if status < 0 else ""
    return killed or f"ended with status {status}"


class KilledError(Exception):
    """A run's process was killed from outside, so Ray tries it again."""


def work_on(folder: Path, arguments: Sequence[str]) -> int:
    """Complete a run on this machine, as a Ray task; return the exit status."""
    if not (folder / RUN).exists():
        raise HardalignError(
            f"{socket.gethostname()} does not see {folder}; choose a folder that all machines of "
            "the cluster share"
        )
    process = start_process(folder, arguments)
    try:
        status = process.wait()
    finally:
        stop_process(process)
    if status not in (DONE, BUSY, FAILED):
        raise KilledError(f"the process {_describe(status)}")
    return status


class Cluster:
    """A Ray cluster: at ``address``, at RAY_ADDRESS, or a new one on this machine.

    ``cpus`` and ``gpus`` are reserved for each run; by default, as many ``workers`` run as fit.
    """

    def __init__(
        self,
        folder: Path,
        arguments: Sequence[str],
        *,
        address: str | None = None,
        workers: int | None = None,
        cpus: float = 1,
        gpus: float = 0,
    ) -> None:
        self._ray = _connect(address)
        self._folder, self._arguments, self._workers = folder, arguments, workers
        self._need = {kind: need for kind, need in (("CPU", cpus), ("GPU", gpus)) if need}
        self._running: dict[Any, Run] = {}
        self._task = self._ray.remote(work_on).options(
            num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES, retry_exceptions=[KilledError]
        )

    def free(self) -> int:
        # At least one worker, even if none fits, so that an autoscaling cluster can grow.
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        need = self._need.items()
        fit = [min(int(node.get(kind, 0) / amount) for kind, amount in need) for node in nodes]
        return max(0, (self._workers or max(1, sum(fit))) - len(self._running))

    def start(self, run: Run) -> None:
        self._running[self._task.remote(self._folder / run.name, self._arguments)] = run

    def ended(self) -> list[tuple[Run, State]]:
        tasks = list(self._running)
        done, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=2 * _PAUSE)
        return [(run, self._state(task, run)) for task in done if (run := self._running.pop(task))]

    def _state(self, task: Any, run: Run) -> State:
        folder = self._folder / run.name
        try:
            return state_of(folder, self._ray.get(task))
        except self._ray.exceptions.RayTaskError as error:
            write_failure(folder, _summary(error.cause), str(error))
        except self._ray.exceptions.RayError as error:
            write_failure(folder, f"after {RETRIES} retries: {_summary(error)}", str(error))
        return "failed"

    def close(self) -> None:
        for task in self._running:
            self._ray.cancel(task, force=True)
        self._running.clear()
        self._ray.shutdown()


def _connect(address: str | None) -> Any:
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingPackageError("--engine ray", "ray", "cluster") from None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    host, _, port = (address or "").rpartition(":")
    try:
        if port.isdigit():  # Ray itself would keep trying for minutes
            socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
        ray.init(
            address=address,
            include_dashboard=None if address else False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (OSError, RuntimeError, ValueError) as error:
        where = address or os.environ.get("RAY_ADDRESS") or "this machine"
        raise HardalignError(f"no Ray cluster at {where}: {_summary(error)}") from error
    return ray


def _summary(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]
