"""How long runs will take, from those that have run in the same folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median

from hardalign.bundled import RUN
from hardalign.experiments.settings import settings_of
from hardalign.runs import Run, epochs_of, read_run


class Estimate:
    """Predicts how long runs take, where runs like them were measured."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._measured: dict[Run, list[list[float]]] = {}
        for path in sorted(folder.glob(f"*/{RUN}")):
            if epochs := [row["seconds"] for row in epochs_of(path.parent)]:
                self._measured.setdefault(_kind(read_run(path.parent)), []).append(epochs)

    def seconds(self, run: Run) -> float | None:
        """Returns how long a run still takes at most; None if none like it has run here.

        Runs are alike that differ only by their seed and their number of epochs. A run ends earlier
        if it learns no more.
        """
        measured = self._measured.get(_kind(run))
        if measured is None:
            return None
        left = settings_of(run).training.epochs - len(epochs_of(self._folder / run.name))
        return max(0, left) * median(seconds for epochs in measured for seconds in epochs)


def _kind(run: Run) -> Run:
    overrides = {name: value for name, value in run.overrides.items() if name != "epochs"}
    return replace(run, seed=0, overrides=overrides)
