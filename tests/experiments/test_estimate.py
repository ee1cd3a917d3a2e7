from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.helpers import write_epochs
from hardalign.experiments.engine import prepare
from hardalign.experiments.estimate import seconds_left
from hardalign.runs import Run

DONE = Run("toy:copy", "hard", overrides={"epochs": 4})


def test_measured_epochs_are_multiplied(tmp_path: Path) -> None:
    """1000 words at 200 words/s, and a quarter of that time more for validation."""
    prepare(tmp_path, DONE)
    write_epochs(tmp_path / DONE.name, [-1.0, -0.5], speed=200.0)
    longer = Run("toy:copy", "hard", seed=1, overrides={"epochs": 5})
    seconds = seconds_left([DONE, longer], tmp_path)
    assert seconds[DONE] == pytest.approx(2 * 6.25)  # two are left to do
    assert seconds[longer] == pytest.approx(5 * 6.25)


@pytest.mark.parametrize("more", [{"members": 2}, {"refit": True}])
def test_several_trainings_take_several_times(more: dict[str, Any], tmp_path: Path) -> None:
    done = Run("toy:copy", "hard", overrides={"epochs": 4, **more})
    prepare(tmp_path, done)
    write_epochs(tmp_path / done.name, [-1.0, -0.5], speed=200.0)
    assert seconds_left([done], tmp_path)[done] == pytest.approx(6 * 6.25)


@pytest.mark.parametrize(
    "run",
    [
        Run("toy:copy", "soft"),
        Run("toy:reverse", "hard"),
        Run("toy:copy", "hard", "large"),
        Run("toy:copy", "hard", overrides={"embedding": 8}),
    ],
)
def test_nothing_is_said_of_what_was_not_measured(run: Run, tmp_path: Path) -> None:
    prepare(tmp_path, DONE)
    write_epochs(tmp_path / DONE.name, [-1.0])
    assert seconds_left([run], tmp_path) == {run: None}
    assert seconds_left([DONE], tmp_path / "none") == {DONE: None}
