"""Tasks without a cluster; test_cluster.py has them on one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hardalign.experiments import task
from hardalign.experiments.process import BUSY, DONE, FAILED, Circumstances
from hardalign.experiments.task import KilledError, work


@pytest.mark.parametrize("status", [DONE, FAILED, BUSY, -9, 77])
def test_who_is_killed_is_tried_again(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = f"os.kill(os.getpid(), {-status})" if status < 0 else f"os._exit({status})"

    def start(folder: Path, _: Circumstances) -> subprocess.Popen[bytes]:
        assert folder == tmp_path / "run"
        return subprocess.Popen([sys.executable, "-c", f"import os; {end}"], stdin=subprocess.PIPE)

    monkeypatch.setattr(task, "start", start)
    (tmp_path / "marker").touch()
    arguments = "run", Circumstances(tmp_path, "test"), tmp_path / "marker", None
    if status in (DONE, FAILED, BUSY):
        assert work(*arguments) == status
    else:
        with pytest.raises(KilledError, match=r"SIGKILL|status 77"):
            work(*arguments)
