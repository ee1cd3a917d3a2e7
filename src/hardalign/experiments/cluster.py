"""The engine ``ray``: the same processes, on the machines of a Ray cluster that share a folder.

A Ray task starts a run's process and waits for it. If the task's worker or its whole machine dies,
Ray starts the task elsewhere, and the run goes on from its last epoch.
"""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path
from typing import Any

from hardalign.errors import HardalignError, MissingPackageError
from hardalign.experiments.engine import Outcome
from hardalign.experiments.local import (
    BUSY,
    DONE,
    FAILED,
    Circumstances,
    describe_exit,
    outcome,
    start_process,
    stop_process,
)
from hardalign.model_folder import RUN
from hardalign.runs import Run, write_failure

RETRIES = 5
"""How many machines a run may lose before it counts as failed."""
_PAUSE, _PATIENCE = 0.2, 10.0


class KilledError(Exception):
    """A run's process was killed: not the run's own doing, so it is tried again."""


def work(folder: Path, circumstances: Circumstances) -> int:
    """Completes a run on whatever machine this is, as a task; returns its process's exit status.

    Raises:
        HardalignError: If this machine does not see the folder.
        KilledError: If the process was killed.
    """
    if not (folder / RUN).exists():
        raise HardalignError(
            f"{socket.gethostname()} does not see {folder}; choose a folder that all machines of "
            "the cluster share"
        )
    process = start_process(folder, circumstances)
    try:
        status = process.wait()
    finally:
        stop_process(process)
    if status not in (DONE, FAILED, BUSY):
        raise KilledError(f"the process {describe_exit(status)}")
    return status


class Cluster:
    """An ``Engine`` on a Ray cluster."""

    def __init__(
        self,
        circumstances: Circumstances,
        *,
        address: str | None = None,
        workers: int | None = None,
        cpus: float = 1,
        gpus: float = 0,
    ) -> None:
        """Connects to a cluster.

        Args:
            circumstances: What all runs have in common.
            address: Where the cluster's head is; without it, what RAY_ADDRESS says, or a new
                cluster of this machine alone.
            workers: Runs at a time; if not given, as many as there is room for.
            cpus: To reserve for a run.
            gpus: To reserve for a run; may be a fraction, or none.
        """
        self._ray = ray = _connect(address)
        self._circumstances, self._workers = circumstances, workers
        self._need = {"CPU": cpus, "GPU": gpus}
        self._running: dict[Any, Run] = {}
        self._task = ray.remote(work).options(
            num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES, retry_exceptions=[KilledError]
        )

    def free(self) -> int:
        """Returns how many more runs there is room for; one always, so that a cluster may grow."""
        room = self._workers
        if room is None:
            room = max(1, sum(map(self._room, self._ray.nodes())))
        return max(0, room - len(self._running))

    def _room(self, node: dict[str, Any]) -> int:
        if not node["Alive"]:
            return 0
        resources = node["Resources"]
        return min(int(resources.get(kind, 0) / need) for kind, need in self._need.items() if need)

    def start(self, run: Run) -> None:
        """Submits the task of a run."""
        task = self._task.remote(self._circumstances.folder / run.name, self._circumstances)
        self._running[task] = run

    def ended(self) -> list[tuple[Run, Outcome]]:
        """Returns the runs whose task has ended."""
        tasks = list(self._running)
        done, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=_PAUSE)
        return [self._end(task) for task in done]

    def _end(self, task: Any) -> tuple[Run, Outcome]:
        run = self._running.pop(task)
        folder = self._circumstances.folder / run.name
        try:
            return run, outcome(folder, self._ray.get(task))
        except self._ray.exceptions.RayTaskError as error:
            write_failure(folder, _summary(error.cause), str(error))
        except self._ray.exceptions.RayError as error:
            write_failure(folder, f"after {RETRIES} retries: {_summary(error)}", str(error))
        return run, "failed"

    def stop(self, run: Run) -> None:
        """Cancels the task of a run."""
        task = next(task for task, other in self._running.items() if other == run)
        del self._running[task]
        self._ray.cancel(task, force=True)

    def close(self) -> None:
        """Cancels all tasks and leaves the cluster."""
        for run in list(self._running.values()):
            self.stop(run)
        self._ray.shutdown()


def _connect(address: str | None) -> Any:
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingPackageError("the engine ray", "ray", "cluster") from None
    _knock(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody asked to be reported on
    try:
        ray.init(
            address=address,
            include_dashboard=None if address else False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = address or os.environ.get("RAY_ADDRESS") or "this machine"
        raise HardalignError(f"no Ray cluster at {where}: {_summary(error)}") from error
    return ray


def _knock(address: str | None) -> None:
    """Makes sure that somebody listens at HOST:PORT; Ray would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if not port.isdigit():
        return  # such as auto
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except OSError as error:
        raise HardalignError(f"no Ray cluster at {address}: {error}") from error


def _summary(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]
