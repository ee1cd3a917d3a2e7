"""How long runs will take, from those that have run in the same folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median

from hardalign.experiments.settings import settings_of
from hardalign.model_folder import RUN
from hardalign.runs import Run, epochs_of, read_run


def seconds_left(runs: Iterable[Run], folder: Path) -> dict[Run, float | None]:
    """Returns how long each run still takes at most; None if none like it has run in the folder.

    Runs are alike that differ only by their seed and their number of epochs. A run ends earlier if
    it learns no more.
    """
    measured = defaultdict[Run, list[float]](list)
    for path in sorted(folder.glob(f"*/{RUN}")):
        epochs = epochs_of(path.parent)
        measured[_kind(read_run(path.parent))] += [row["seconds"] for row in epochs]

    def estimate(run: Run) -> float | None:
        epochs = settings_of(run).most_epochs - len(epochs_of(folder / run.name))
        seconds = measured[_kind(run)]
        return max(0, epochs) * median(seconds) if seconds else None

    return {run: estimate(run) for run in runs}


def _kind(run: Run) -> Run:
    """Returns what runs that are alike have in common."""
    overrides = {name: value for name, value in run.overrides.items() if name != "epochs"}
    return replace(run, seed=0, overrides=overrides)
