from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from experiments.helpers import tiny_run, write_epochs
from hardalign.cli import runs_table
from hardalign.cli.runs_table import RunsTable

ONE, OTHER, THIRD = (tiny_run(seed=seed) for seed in range(3))


def test_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each event once; what was complete before is none."""
    with RunsTable(tmp_path) as table:
        table.update({ONE: "done", OTHER: "waiting"})
        table.update({ONE: "done", OTHER: "running"})
        table.update({ONE: "done", OTHER: "running"})
        write_epochs(tmp_path / OTHER.name, [-2.0, -1.0])
        table.update({ONE: "done", OTHER: "failed"})
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        f"hardalign: running: {OTHER.name}",
        f"hardalign: failed: {OTHER.name}, epoch 2, dev acc 20.00",
    ]


@pytest.mark.parametrize(("height", "hidden"), [(20, 0), (8, 1)])
def test_table(height: int, hidden: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs comes first, and what there is no room for is counted."""
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=100, height=height)
    monkeypatch.setattr(runs_table, "console", lambda: terminal)
    write_epochs(tmp_path / OTHER.name, [-2.0, -1.0])
    with RunsTable(tmp_path) as table:
        table.update({ONE: "done", OTHER: "running", THIRD: "waiting"})
    shown = screen.getvalue()
    assert "1 running, 1 waiting, 1 done" in shown
    assert "20.00" in shown
    assert ("and 1 more" in shown) == bool(hidden)
    assert (ONE.name in shown) == (not hidden)
    assert shown.index(OTHER.name) < shown.index(THIRD.name)
