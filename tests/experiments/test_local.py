from __future__ import annotations

import signal
from pathlib import Path

import pytest

from experiments.helpers import Memory, tiny_run
from hardalign.experiments.engine import prepare, run_all
from hardalign.experiments.local import (
    BUSY,
    DONE,
    FAILED,
    Circumstances,
    Local,
    outcome,
    start_process,
)
from hardalign.files import locked
from hardalign.runs import (
    LOG,
    RESULT,
    epochs_of,
    read_failures,
    read_results,
    write_failure,
)
from helpers import eventually

LONG = tiny_run(words=300, epochs=10_000, learning_rate=1e-4)


def test_runs_side_by_side(tmp_path: Path) -> None:
    """One completes, one fails, and one is left to another command."""
    good, bad, taken = tiny_run(), tiny_run(learning_rate=3e38), tiny_run("soft")
    prepare(tmp_path, taken)
    memory = Memory()
    with locked(tmp_path / taken.name, "another"):
        engine = Local(Circumstances(tmp_path, "test", device="cpu"), workers=2)
        states = run_all([good, bad, taken], tmp_path, engine, memory)
    assert states == {good: "done", bad: "failed", taken: "busy"}
    assert [result.run for result in read_results(tmp_path)] == [good]
    assert ["diverged" in failure.error for failure in read_failures(tmp_path)] == [True]
    assert max(list(seen.values()).count("running") for seen in memory.seen) == 2


@pytest.mark.parametrize("end", ["closed", "orphaned"])
def test_ends_at_once_and_lets_go(end: str, tmp_path: Path) -> None:
    prepare(tmp_path, LONG)
    folder, circumstances = tmp_path / LONG.name, Circumstances(tmp_path, "test", device="cpu")
    if end == "closed":
        engine = Local(circumstances, workers=1)
        engine.start(LONG)
        assert engine.free() == 0
        eventually(lambda: bool(epochs_of(folder)))
        engine.close()
        assert engine.free() == 1
    else:
        process = start_process(folder, circumstances)
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
    assert outcome(folder, DONE) == "done"
    assert outcome(folder, BUSY) == "busy"
    assert read_failures(tmp_path) == []
    write_failure(folder, "its own words")
    assert outcome(folder, FAILED) == "failed"
    assert [failure.error for failure in read_failures(tmp_path)] == ["its own words"]
    for attempt, (status, words) in enumerate(
        [(-signal.SIGKILL, "killed by SIGKILL"), (1, "status 1")], start=2
    ):
        assert outcome(folder, status) == "failed"
        (failure,) = read_failures(tmp_path)
        assert words in failure.error
        assert LOG not in failure.error  # whoever shows it names the log
        assert failure.attempt == attempt
