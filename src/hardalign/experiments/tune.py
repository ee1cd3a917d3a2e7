"""Hyperparameter search over the paper's search ranges, on the engines of the grid.

A trial is a run like any other, in a folder of the same layout. Which settings are tried follows
from the seed alone, so a search that was interrupted tries the same ones again, and finds most of
them done.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hardalign.experiments.engine import Engine, State, Watcher, run_all
from hardalign.files import write_bytes
from hardalign.runs import Run, epochs_of
from hardalign.systems import find_system

Method = Literal["random", "halving"]
Ranges = dict[str, tuple[float, ...]]

RANGES: Ranges = {
    "embedding": (50, 100, 200, 300),
    "encoder": (100, 200, 400, 600),
    "encoder_layers": (1, 2, 3),
    "decoder": (100, 200, 400, 600),
    "decoder_layers": (1, 2, 3),
    "dropout": (0.0, 0.1, 0.2, 0.4),
}
"""The paper's table of hyperparameters, last column."""
SAMPLES = (2, 3, 4, 5)
"""The paper's range for systems that are trained on samples."""

FIRST_RUNG, REDUCTION = 2, 3
"""Successive halving: after 2, 6, 18, … epochs the better third goes on."""


@dataclass(frozen=True)
class Trials:
    """Says how the trials of a search stand."""

    states: dict[Run, State]
    values: dict[Run, float]
    """The best development log-likelihood of each complete trial."""

    @property
    def best(self) -> Run | None:
        """Returns the best complete trial, if there is one."""
        return max(self.values, key=self.values.__getitem__, default=None)


def ranges_of(system: str) -> Ranges:
    """Returns what is searched for a system."""
    draws = find_system(system).objective in ("reinforce", "particles")
    return RANGES | ({"samples": SAMPLES} if draws else {})


def draw_trials(base: Run, count: int, ranges: Ranges) -> list[Run]:
    """Returns so many different trials, drawn at random; all that there are if these are fewer.

    ``base`` is what all have in common; its seed decides what is drawn. The first ones are the same
    for any count.
    """
    chance = random.Random(base.seed)
    trials: list[Run] = []
    while len(trials) < min(count, math.prod(map(len, ranges.values()))):
        settings = {name: chance.choice(choices) for name, choices in ranges.items()}
        trial = replace(base, overrides={**base.overrides, **settings})
        if trial not in trials:
            trials.append(trial)
    return trials


def run_trials(
    runs: list[Run], folder: Path, engine: Engine, watcher: Watcher, method: Method
) -> Trials:
    """Sees all trials through, or by halving only those that do well early."""
    rungs = Rungs()

    def falls_behind(run: Run) -> bool:
        return rungs.falls_behind(run, _values(folder, run)) and method == "halving"

    states = run_all(runs, folder, engine, watcher, falls_behind)
    done = [run for run, state in states.items() if state == "done"]
    return Trials(states, {run: max(_values(folder, run)) for run in done})


class Rungs:
    """Halves asynchronously: whoever reaches a rung must be among its better third."""

    def __init__(self) -> None:
        self._values: dict[int, dict[Run, float]] = {}

    def falls_behind(self, run: Run, values: list[float]) -> bool:
        """Returns whether a run fails at a rung that it had not reached when last asked about.

        ``values`` is what it has achieved after each of its epochs.
        """
        behind, rung = False, FIRST_RUNG
        while rung <= len(values):
            rivals = self._values.setdefault(rung, {})
            if run not in rivals:
                rivals[run] = value = values[rung - 1]
                last = max(1, len(rivals) // REDUCTION)
                behind = behind or value < sorted(rivals.values(), reverse=True)[last - 1]
            rung *= REDUCTION
        return behind


def write_plan(path: Path, run: Run, comment: str) -> None:
    """Writes a plan for ``hardalign reproduce`` that has one run."""
    axes = {"systems": run.system, "sizes": run.size, "corpora": run.corpus, "seeds": run.seed}
    lines = [f"# {comment}", *_lines({key: [value] for key, value in axes.items()})]
    lines += ["", "[overrides]", *_lines(run.overrides)]
    if run.files is not None:
        files = asdict(run.files)
        files |= files.pop("settings")
        del files["sha256"]
        lines += ["", f"[data.{run.corpus}]", *_lines(files)]
    write_bytes(path, ("\n".join(lines) + "\n").encode())


def _lines(table: dict[str, Any]) -> list[str]:
    # TOML knows no halves of a character, as JSON in ASCII has them.
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]


def _values(folder: Path, run: Run) -> list[float]:
    return [row["dev_log_likelihood"] for row in epochs_of(folder / run.name)]
