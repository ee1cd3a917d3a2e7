from __future__ import annotations

from pathlib import Path

import pytest

from experiments.helpers import tiny_run
from hardalign.experiments import worker
from hardalign.experiments.local import BUSY, DONE, FAILED
from hardalign.experiments.worker import work
from hardalign.files import locked
from hardalign.runs import FAILURE, RESULT, Failure, Run, read_failures, write_run


def folder_of(run: Run, tmp_path: Path) -> Path:
    folder = tmp_path / run.name
    folder.mkdir()
    write_run(folder, run)
    return folder


def test_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tiny_run(), tmp_path)
    assert work(folder, "test", "cpu", None) == DONE
    assert (folder / RESULT).exists()
    log = capsys.readouterr().out
    assert "50 training pairs, after epoch 0" in log
    assert "epoch 2: loss" in log


def test_failed_for_a_known_reason(tmp_path: Path) -> None:
    run = tiny_run(learning_rate=3e38)
    folder = folder_of(run, tmp_path)
    for attempt in (1, 2):
        assert work(folder, "test", "cpu", None) == FAILED
        (failure,) = read_failures(tmp_path)
        assert failure.run == run
        assert "diverged in epoch 1" in failure.error
        assert failure.traceback is None
        assert failure.attempt == attempt
    assert not (folder / RESULT).exists()


def test_failed_for_an_unknown_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("one\ntwo")

    monkeypatch.setattr(worker, "execute", broken)
    folder = folder_of(tiny_run(), tmp_path)
    assert work(folder, "test", "cpu", None) == FAILED
    (failure,) = read_failures(tmp_path)
    assert failure == Failure(tiny_run(), "ZeroDivisionError: one", failure.traceback, 1)
    assert failure.traceback is not None
    assert "in broken" in failure.traceback


def test_busy(tmp_path: Path) -> None:
    folder = folder_of(tiny_run(), tmp_path)
    with locked(folder, "another"):
        assert work(folder, "test", "cpu", None) == BUSY
    assert not (folder / FAILURE).exists()
