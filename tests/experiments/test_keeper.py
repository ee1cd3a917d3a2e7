from __future__ import annotations

from pathlib import Path

import pytest

from experiments.conftest import tiny_run
from hardalign.experiments.engine import prepare
from hardalign.experiments.keeper import Keeper, Snapshot, store
from hardalign.experiments.lock import BusyError, locked
from hardalign.experiments.process import Circumstances
from hardalign.experiments.runs import FAILURE, RESULT, RUN, write_failure


@pytest.fixture
def name(tmp_path: Path) -> str:
    prepare(tmp_path, tiny_run())
    return tiny_run().name


def test_lends_and_takes_back(name: str, tmp_path: Path) -> None:
    keeper = Keeper(Circumstances(tmp_path, "one"))
    loan, files = keeper.lend(name) or (0, {})
    assert set(files) == {RUN}
    with pytest.raises(BusyError), locked(tmp_path / name, "other"):
        pass
    keeper.hand_in(name, loan, {"model/weights": b"12", "log.txt": b"so far"})
    assert (tmp_path / name / "model" / "weights").read_bytes() == b"12"
    keeper.give_back(name)
    with locked(tmp_path / name, "other"):
        assert keeper.lend(name) is None


def test_the_second_loan_ends_the_first(name: str, tmp_path: Path) -> None:
    """The first borrower's machine is taken for dead; what it still sends comes too late."""
    keeper = Keeper(Circumstances(tmp_path, "one"))
    first, _ = keeper.lend(name) or (0, {})
    keeper.hand_in(name, first, {"model/weights": b"of the first"})
    second, files = keeper.lend(name) or (0, {})
    assert files["model/weights"] == b"of the first"
    keeper.hand_in(name, second, {"model/weights": b"of the second"})
    keeper.hand_in(name, first, {"model/weights": b"too late"})
    assert (tmp_path / name / "model" / "weights").read_bytes() == b"of the second"


def test_snapshot(tmp_path: Path) -> None:
    snapshot = Snapshot(tmp_path)
    store(tmp_path, {RESULT: b"{}", "zzz.txt": b"z", "model/a": b"1", "model/b": b"2"})
    (tmp_path / ".hidden").write_bytes(b"not yet whole")
    assert snapshot.changes() == {"model/a": b"1", "model/b": b"2", "zzz.txt": b"z", RESULT: b"{}"}
    assert snapshot.changes() == {}
    store(tmp_path, {"model/a": b"3", RESULT: b"[]"})
    changes = snapshot.changes()
    assert changes == {"model/a": b"3", RESULT: b"[]"}
    assert list(changes)[-1] == RESULT


def test_success_removes_the_failure(tmp_path: Path) -> None:
    write_failure(tmp_path, "before")
    store(tmp_path, {RESULT: b"{}"})
    assert not (tmp_path / FAILURE).exists()
