from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import ray
import ray.cluster_utils

from experiments.helpers import tiny_run
from hardalign.errors import HardalignError
from hardalign.experiments import cluster
from hardalign.experiments.cluster import Cluster, KilledError, work
from hardalign.experiments.engine import State, run_all
from hardalign.experiments.execute import execute
from hardalign.experiments.local import BUSY, DONE, FAILED, Circumstances
from hardalign.model_folder import WEIGHTS
from hardalign.runs import (
    LOG,
    MODEL,
    RESULT,
    RUN,
    Run,
    epochs_of,
    read_failures,
    read_results,
)
from hardalign.training.job import Reporter

EPOCHS = 100
"""So many that the first run is not at its end before the watcher looks the next time."""


@pytest.fixture
def machines() -> Iterator[ray.cluster_utils.Cluster]:
    """A head that runs nothing, and one machine of one core: it is at work on whatever runs."""
    # Who is dead refuses checks at once; who is merely busy has ten seconds to answer each.
    impatient = {"health_check_period_ms": 1000, "health_check_failure_threshold": 10}
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": impatient}
    machines = ray.cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    machines.add_node(wait=False, num_cpus=1)
    machines.wait_for_nodes(120)
    yield machines
    machines.shutdown()


class MachineKiller:
    """A watcher that kills the one machine in the middle of its first run, and adds another."""

    def __init__(self, first: Path, machines: ray.cluster_utils.Cluster) -> None:
        self._first, self._machines = first, machines
        self.killed = False

    def update(self, states: dict[Run, State]) -> None:
        if not self.killed and epochs_of(self._first):
            assert not (self._first / RESULT).exists()
            (machine,) = self._machines.worker_nodes
            self._machines.remove_node(machine, allow_graceful=False)
            self._machines.add_node(wait=False, num_cpus=1)
            self.killed = True


def test_a_machine_dies(machines: ray.cluster_utils.Cluster, tmp_path: Path) -> None:
    """All runs finish, none twice, none lost."""
    # At this rate every epoch is better than the last, so that none ends the run early.
    runs = [tiny_run(epochs=epochs, learning_rate=2e-4) for epochs in (EPOCHS, 2)]
    folder = tmp_path / "grid"
    folder.mkdir()
    engine = Cluster(Circumstances(folder, "test", device="cpu"), address=machines.address)
    killer = MachineKiller(folder / runs[0].name, machines)
    states = run_all(runs, folder, engine, killer)
    assert killer.killed
    assert states == dict.fromkeys(runs, "done")
    assert read_failures(folder) == []
    results = {result.run: result for result in read_results(folder)}
    assert results.keys() == set(runs)

    killed, other = runs
    (begin, again), (once,) = (_starts(folder / run.name) for run in (killed, other))
    assert begin == once == 0 < again  # it went on from its last epoch
    assert [row["epoch"] for row in epochs_of(folder / killed.name)] == [*range(1, EPOCHS + 1)]
    # The interrupted run ends as if nothing had happened.
    alone = execute(killed, tmp_path / "alone", Reporter(), device="cpu")
    assert replace(results[killed], seconds=0.0) == replace(alone, seconds=0.0)
    weights = [tmp_path / "alone", folder / killed.name]
    assert len({(path / MODEL / WEIGHTS).read_bytes() for path in weights}) == 1


def _starts(folder: Path) -> list[int]:
    """After which epochs the log of a run says that training began."""
    lines = (folder / LOG).read_text().splitlines()
    return [int(line.split()[-1]) for line in lines if "training pairs, after epoch" in line]


@pytest.mark.parametrize("status", [DONE, FAILED, BUSY, -9, 77])
def test_who_is_killed_is_tried_again(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = f"os.kill(os.getpid(), {-status})" if status < 0 else f"os._exit({status})"

    def start(folder: Path, _: Circumstances) -> subprocess.Popen[bytes]:
        assert folder == tmp_path
        return subprocess.Popen([sys.executable, "-c", f"import os; {end}"], stdin=subprocess.PIPE)

    monkeypatch.setattr(cluster, "start_process", start)
    (tmp_path / RUN).touch()
    if status in (DONE, FAILED, BUSY):
        assert work(tmp_path, Circumstances(tmp_path, "test")) == status
    else:
        with pytest.raises(KilledError, match=r"SIGKILL|status 77"):
            work(tmp_path, Circumstances(tmp_path, "test"))


def test_a_machine_that_does_not_share_the_folder(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match=r"does not see .*elsewhere"):
        work(tmp_path / "elsewhere", Circumstances(tmp_path, "test"))


def test_no_cluster_there(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="no Ray cluster"):
        Cluster(Circumstances(tmp_path, "test"), address="127.0.0.1:1")
