"""The engine ``ray``: the same processes, on the machines of a Ray cluster.

A Ray task (``task.py``) starts a run's process and waits for it. If the task's worker or its whole
machine dies, Ray starts the task elsewhere, and the run goes on from its last epoch. Machines that
see the grid's folder work in it; others work on a copy (``keeper.py``).
"""

from __future__ import annotations

import logging
import os
import socket
from typing import Any

from hardalign.errors import HardalignError
from hardalign.experiments.keeper import Keeper
from hardalign.experiments.process import Circumstances, Outcome, outcome
from hardalign.experiments.runs import Run, failures_of, write_failure
from hardalign.experiments.task import KilledError, work

RETRIES = 5
"""How many machines a run may lose before it counts as failed."""
_PAUSE, _PATIENCE = 0.2, 10.0


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
        """Connect to a cluster.

        Args:
            circumstances: What all runs have in common.
            address: Of the cluster's head; without it, that in RAY_ADDRESS, or a new cluster of
                this machine alone.
            workers: Runs at a time; if not given, as many as there is room for.
            cpus: To reserve for a run.
            gpus: To reserve for a run; may be a fraction, or none.
        """
        self._ray = ray = _connect(address)
        self._circumstances, self._workers = circumstances, workers
        self._need = {"CPU": cpus, "GPU": gpus}
        self._running: dict[Any, tuple[Run, int]] = {}
        self._marker = circumstances.folder / f".command-{circumstances.command}"
        self._marker.touch()
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        keeper = ray.remote(Keeper).options(num_cpus=0, scheduling_strategy=here)
        self._keeper = keeper.remote(circumstances)
        self._task = ray.remote(work).options(
            num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES, retry_exceptions=[KilledError]
        )

    def free(self) -> int:
        """How many more runs the cluster has room for; one always, so that it may grow for it."""
        room = self._workers
        if room is None:
            room = max(1, sum(map(self._room, self._ray.nodes())))
        return max(0, room - len(self._running))

    def _room(self, node: dict[str, Any]) -> int:
        if not node["Alive"]:
            return 0
        has = node["Resources"]
        return min(int(has.get(kind, 0) / need) for kind, need in self._need.items() if need)

    def start(self, run: Run) -> None:
        """Submit the task of a run."""
        failures = failures_of(self._circumstances.folder / run.name)
        task = self._task.remote(run.name, self._circumstances, self._marker, self._keeper)
        self._running[task] = run, failures

    def ended(self) -> list[tuple[Run, Outcome]]:
        """The runs whose task has ended."""
        tasks = list(self._running)
        done, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=_PAUSE)
        return [self._end(task) for task in done]

    def _end(self, task: Any) -> tuple[Run, Outcome]:
        run, failures = self._running.pop(task)
        folder = self._circumstances.folder / run.name
        try:
            status = self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            write_failure(folder, f"after {RETRIES} retries: {_summary(error)}", str(error))
            return run, "failed"
        return run, outcome(folder, status, failures)

    def stop(self, run: Run) -> None:
        """Cancel the task of a run."""
        task = next(task for task, (found, _) in self._running.items() if found == run)
        del self._running[task]
        self._ray.cancel(task, force=True)

    def close(self) -> None:
        """Cancel all tasks and leave the cluster."""
        for run, _ in list(self._running.values()):
            self.stop(run)
        self._marker.unlink(missing_ok=True)
        self._ray.shutdown()


def _connect(address: str | None) -> Any:
    if address is not None and address.startswith("ray://"):
        raise HardalignError(
            f"--address {address}: results could not be brought back from there; "
            "run the command on a machine of the cluster, with --address auto"
        )
    try:
        import ray
        import ray.util.scheduling_strategies
    except ModuleNotFoundError:
        raise HardalignError(
            "--engine ray needs a package; install it with pip install 'hardalign[cluster]'"
        ) from None
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
    """Make sure that somebody listens at HOST:PORT; Ray would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if not port.isdigit():
        return  # such as auto
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except OSError as error:
        raise HardalignError(f"no Ray cluster at {address}: {error}") from error


def _summary(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]
