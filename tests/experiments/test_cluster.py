from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import ray
import ray.cluster_utils

from experiments.conftest import tiny_run
from hardalign.errors import HardalignError
from hardalign.experiments.cluster import Cluster
from hardalign.experiments.engine import State, run_all
from hardalign.experiments.estimate import epochs_of
from hardalign.experiments.execute import execute
from hardalign.experiments.process import Circumstances
from hardalign.experiments.runs import LOG, MODEL, Run, read_failures, read_results
from hardalign.folder import CHECKPOINT, WEIGHTS
from hardalign.training.job import Silent

EPOCHS = 25


class NodeKiller:
    """A watcher that kills a machine once every machine is in the middle of a run."""

    def __init__(self, folder: Path, cluster: ray.cluster_utils.Cluster) -> None:
        self._folder, self._cluster = folder, cluster
        self.killed = False

    def update(self, states: dict[Run, State]) -> None:
        running = [run for run, state in states.items() if state == "running"]
        begun = [run for run in running if (self._folder / run.name / MODEL / CHECKPOINT).exists()]
        if not self.killed and len(begun) == len(self._cluster.worker_nodes):
            node = next(iter(self._cluster.worker_nodes))
            self._cluster.remove_node(node, allow_graceful=False)
            self.killed = True


@pytest.fixture(scope="module")
def machines() -> Iterator[ray.cluster_utils.Cluster]:
    """A head that runs nothing, and three machines of one core."""
    impatient = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": impatient}
    cluster = ray.cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    for _ in range(3):
        cluster.add_node(wait=False, num_cpus=1)
    cluster.wait_for_nodes(120)
    yield cluster
    cluster.shutdown()


@pytest.mark.parametrize("shared", [True, False])
def test_a_machine_dies(shared: bool, machines: ray.cluster_utils.Cluster, tmp_path: Path) -> None:
    """All runs finish, none twice, none lost, wherever their folders are."""
    runs = [tiny_run(seed=seed, epochs=EPOCHS) for seed in range(len(machines.worker_nodes))]
    folder = tmp_path / "grid"
    folder.mkdir()
    circumstances = Circumstances(folder, "test", device="cpu")
    engine = Cluster(circumstances, address=machines.address)
    if not shared:  # the machines look for this file to know whether they see the folder
        for marker in folder.glob(".command-*"):
            marker.unlink()
    killer = NodeKiller(folder, machines)
    states = run_all(runs, folder, engine, killer)
    assert killer.killed
    assert states == dict.fromkeys(runs, "done")
    assert read_failures(folder) == []
    assert [result.run for result in read_results(folder)] == runs

    starts = {run: _starts(folder / run.name) for run in runs}
    retried = [run for run in runs if len(starts[run]) == 2]
    assert sum(map(len, starts.values())) == len(runs) + 1
    assert starts[retried[0]][1] > 0  # it went on from its last epoch
    for result in read_results(folder):
        rows = epochs_of(folder / result.run.name)
        assert [row["epoch"] for row in rows] == [*range(1, result.epochs + 1)]
    # The interrupted run ends as if nothing had happened.
    alone = execute(retried[0], tmp_path / "alone", Silent(), device="cpu")
    (result,) = (one for one in read_results(folder) if one.run == retried[0])
    assert replace(result, seconds=0.0) == replace(alone, seconds=0.0)
    weights = [tmp_path / "alone", folder / retried[0].name]
    assert len({(path / MODEL / WEIGHTS).read_bytes() for path in weights}) == 1


def _starts(folder: Path) -> list[int]:
    """After which epochs the log of a run says that training began."""
    lines = (folder / LOG).read_text().splitlines()
    return [int(line.split()[-1]) for line in lines if "training pairs, after epoch" in line]


@pytest.mark.parametrize(
    ("address", "words"),
    [("ray://somewhere:10001", "on a machine of the cluster"), ("127.0.0.1:1", "no Ray cluster")],
)
def test_no_cluster_there(address: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match=words):
        Cluster(Circumstances(tmp_path, "test"), address=address)
