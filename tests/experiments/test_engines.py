from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import ray
import ray.cluster_utils

from experiments.helpers import Scripted, tiny_run
from hardalign.errors import HardalignError
from hardalign.experiments import engines
from hardalign.experiments.engines import (
    BUSY,
    DONE,
    FAILED,
    Cluster,
    KilledError,
    Local,
    State,
    run_all,
    start_process,
    state_of,
    work_on,
)
from hardalign.experiments.run import (
    LOG,
    MODEL,
    RESULT,
    RUN,
    Run,
    epochs_of,
    prepare,
    read_failures,
    read_results,
    write_failure,
)
from hardalign.experiments.worker import execute
from hardalign.files import locked
from hardalign.model_folder import WEIGHTS
from hardalign.training.run import Reporter
from helpers import eventually

RUNS = [tiny_run(seed=seed) for seed in range(5)]
LONG = tiny_run(words=300, epochs=10_000, learning_rate=1e-4)
ARGUMENTS = ("test", "cpu")
EPOCHS = 100
"""So many that the first run is not at its end before the watcher looks the next time."""


def ignore(_: object) -> None:
    """Watch nothing."""


def test_all_run_once_and_in_order(tmp_path: Path) -> None:
    seen: list[dict[Run, State]] = []
    engine = Scripted(tmp_path)
    states = run_all(RUNS, tmp_path, engine, lambda states: seen.append(dict(states)))
    assert states == seen[-1] == dict.fromkeys(RUNS, "done")
    assert engine.started == RUNS
    assert engine.closed
    assert set(seen[0].values()) == {"waiting"}
    assert max(list(one.values()).count("running") for one in seen) == 2
    assert [result.run for result in read_results(tmp_path)] == RUNS


def test_nothing_is_repeated_and_failures_do_not_stop_the_rest(tmp_path: Path) -> None:
    bad, taken = RUNS[1], RUNS[2]
    special: dict[Run, State] = {bad: "failed", taken: "busy"}
    engine = Scripted(tmp_path, lambda run: special.get(run, "done"))
    states = run_all(RUNS, tmp_path, engine, ignore)
    assert states == {**dict.fromkeys(RUNS, "done"), **special}
    assert list(read_failures(tmp_path)) == [bad.name]
    # The same command once more: what is complete stays as it is, and what is new is run as well.
    engine, new = Scripted(tmp_path), tiny_run("soft")
    states = run_all([*RUNS, new], tmp_path, engine, ignore)
    assert engine.started == [bad, taken, new]
    assert set(states.values()) == {"done"}


def test_interrupts_end_everything(tmp_path: Path) -> None:
    def impatient(states: dict[Run, State]) -> None:
        if "done" in states.values():
            raise KeyboardInterrupt

    engine = Scripted(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_all(RUNS, tmp_path, engine, impatient)
    assert engine.closed


def test_runs_side_by_side(tmp_path: Path) -> None:
    """One completes, one fails, and one is left to another command."""
    good, bad, taken = tiny_run(), tiny_run(learning_rate=3e38), tiny_run("soft")
    prepare(tmp_path, taken)
    running = set()
    with locked(tmp_path / taken.name, "another"):
        engine = Local(tmp_path, ARGUMENTS, workers=2)
        states = run_all(
            [good, bad, taken],
            tmp_path,
            engine,
            lambda states: running.add(list(states.values()).count("running")),
        )
    assert states == {good: "done", bad: "failed", taken: "busy"}
    assert [result.run for result in read_results(tmp_path)] == [good]
    assert "diverged" in read_failures(tmp_path)[bad.name].error
    assert max(running) == 2


@pytest.mark.parametrize("end", ["closed", "orphaned"])
def test_ends_at_once_and_lets_go(end: str, tmp_path: Path) -> None:
    prepare(tmp_path, LONG)
    folder = tmp_path / LONG.name
    if end == "closed":
        engine = Local(tmp_path, ARGUMENTS, workers=1)
        engine.start(LONG)
        assert engine.free() == 0
        eventually(lambda: bool(epochs_of(folder)))
        engine.close()
        assert engine.free() == 1
    else:
        process = start_process(folder, ARGUMENTS)
        eventually(lambda: bool(epochs_of(folder)))
        assert process.stdin is not None
        process.stdin.close()  # as the end of whoever started it does
        process.wait(60)
    with locked(folder, "another"):
        assert "training pairs, after epoch 0" in (folder / LOG).read_text()
        assert not (folder / RESULT).exists()


def test_a_failure_is_recorded_once(tmp_path: Path) -> None:
    """By the process itself, or by the engine if the process could not."""
    run = tiny_run()
    prepare(tmp_path, run)
    folder = tmp_path / run.name
    assert state_of(folder, DONE) == "done"
    assert state_of(folder, BUSY) == "busy"
    assert read_failures(tmp_path) == {}
    write_failure(folder, "its own words")
    assert state_of(folder, FAILED) == "failed"
    assert read_failures(tmp_path)[run.name].error == "its own words"
    for attempt, (status, words) in enumerate(
        [(-signal.SIGKILL, "killed by SIGKILL"), (1, "status 1")], start=2
    ):
        assert state_of(folder, status) == "failed"
        failure = read_failures(tmp_path)[run.name]
        assert words in failure.error
        assert (failure.attempt, failure.refused) == (attempt, False)


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


def test_a_machine_dies(machines: ray.cluster_utils.Cluster, tmp_path: Path) -> None:
    """The one machine is killed in the middle of its first run: all runs finish, none twice."""
    # At this rate every epoch is better than the last, so that none ends the run early.
    runs = [tiny_run(epochs=epochs, learning_rate=2e-4) for epochs in (EPOCHS, 2)]
    folder, dead = tmp_path / "grid", []
    first = folder / runs[0].name

    def kill(_: object) -> None:
        if not dead and epochs_of(first):
            assert not (first / RESULT).exists()
            dead.extend(machines.worker_nodes)
            machines.remove_node(dead[0], allow_graceful=False)
            machines.add_node(wait=False, num_cpus=1)

    engine = Cluster(folder, ARGUMENTS, address=machines.address)
    states = run_all(runs, folder, engine, kill)
    assert len(dead) == 1
    assert states == dict.fromkeys(runs, "done")
    assert read_failures(folder) == {}
    results = {result.run: result for result in read_results(folder)}
    assert results.keys() == set(runs)

    killed, other = runs
    (begin, again), (once,) = (_starts(folder / run.name) for run in (killed, other))
    assert begin == once == 0 < again  # it resumed from its last epoch
    assert [row["epoch"] for row in epochs_of(first)] == [*range(1, EPOCHS + 1)]
    # The interrupted run ends as if nothing had happened.
    alone = execute(killed, tmp_path / "alone", Reporter(), device="cpu")
    assert replace(results[killed], seconds=0.0) == replace(alone, seconds=0.0)
    weights = [tmp_path / "alone", first]
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

    def start(folder: Path, _: Sequence[str]) -> subprocess.Popen[bytes]:
        assert folder == tmp_path
        return subprocess.Popen([sys.executable, "-c", f"import os; {end}"], stdin=subprocess.PIPE)

    monkeypatch.setattr(engines, "start_process", start)
    (tmp_path / RUN).touch()
    if status in (DONE, FAILED, BUSY):
        assert work_on(tmp_path, ARGUMENTS) == status
    else:
        with pytest.raises(KilledError, match=r"SIGKILL|status 77"):
            work_on(tmp_path, ARGUMENTS)


def test_no_shared_folder_and_no_cluster(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match=r"does not see .*elsewhere"):
        work_on(tmp_path / "elsewhere", ARGUMENTS)
    with pytest.raises(HardalignError, match="no Ray cluster"):
        Cluster(tmp_path, ARGUMENTS, address="127.0.0.1:1")
