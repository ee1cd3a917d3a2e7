from __future__ import annotations

from pathlib import Path

import pytest

from experiments.conftest import Memory, tiny_run
from hardalign.errors import HardalignError
from hardalign.experiments.engine import prepare, run_all
from hardalign.experiments.local import Local
from hardalign.experiments.lock import locked
from hardalign.experiments.process import Circumstances
from hardalign.experiments.runs import read_failures, read_results


def test_runs_side_by_side(tmp_path: Path) -> None:
    """One completes, one fails, and one is left to another command."""
    good, bad, taken = tiny_run(), tiny_run(learning_rate=1e30), tiny_run("soft")
    prepare(tmp_path, taken)
    memory = Memory()
    with locked(tmp_path / taken.name, "another"):
        engine = Local(Circumstances(tmp_path, "test", device="cpu"), workers=2)
        states = run_all([good, bad, taken], tmp_path, engine, memory)
    assert states == {good: "done", bad: "failed", taken: "busy"}
    assert [result.run for result in read_results(tmp_path)] == [good]
    assert ["diverged" in failure.error for failure in read_failures(tmp_path)] == [True]
    assert max(list(seen.values()).count("running") for seen in memory.seen) == 2


def test_closing_ends_the_processes(tmp_path: Path) -> None:
    run = tiny_run(epochs=10_000)
    prepare(tmp_path, run)
    engine = Local(Circumstances(tmp_path, "test", device="cpu"), workers=1)
    engine.start(run)
    assert engine.free() == 0
    engine.close()
    assert engine.free() == 1
    with locked(tmp_path / run.name, "another"):
        assert read_results(tmp_path) == []


def test_no_workers(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="--workers"):
        Local(Circumstances(tmp_path, "test"), workers=0)
