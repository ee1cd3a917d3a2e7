from __future__ import annotations

import signal
from pathlib import Path

import pytest

from experiments.conftest import eventually, tiny_run
from hardalign.experiments.lock import locked
from hardalign.experiments.process import BUSY, DONE, FAILED, Circumstances, outcome, start, stop
from hardalign.experiments.runs import LOG, MODEL, RESULT, read_failures, write_failure, write_run
from hardalign.folder import CHECKPOINT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a run that takes long."""
    run = tiny_run(epochs=10_000, min_learning_rate=1e-300)
    path = tmp_path / run.name
    path.mkdir()
    write_run(path, run)
    return path


@pytest.mark.parametrize("end", ["stopped", "orphaned"])
def test_ends_at_once_and_lets_go(end: str, folder: Path) -> None:
    process = start(folder, Circumstances(folder.parent, "test", device="cpu"))
    eventually((folder / MODEL / CHECKPOINT).exists)
    if end == "stopped":
        stop(process)
    else:  # the end of whoever started it closes the pipe
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)
    with locked(folder, "another"):
        assert "epoch 1: loss" in (folder / LOG).read_text()
        assert not (folder / RESULT).exists()


def test_outcomes(folder: Path) -> None:
    assert outcome(folder, DONE, 0) == "done"
    assert outcome(folder, BUSY, 0) == "busy"
    assert read_failures(folder.parent) == []
    write_failure(folder, "its own words")
    assert outcome(folder, FAILED, 0) == "failed"
    assert [failure.error for failure in read_failures(folder.parent)] == ["its own words"]


def test_who_cannot_record_a_failure_gets_it_recorded(folder: Path) -> None:
    assert outcome(folder, -signal.SIGKILL, 0) == "failed"
    (failure,) = read_failures(folder.parent)
    assert "killed by SIGKILL" in failure.error
    assert str(folder / LOG) in failure.error
    assert outcome(folder, FAILED, 1) == "failed"
    (failure,) = read_failures(folder.parent)
    assert "status 1" in failure.error
    assert failure.attempt == 2
