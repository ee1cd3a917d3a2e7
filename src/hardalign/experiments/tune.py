"""Hyperparameter search over the paper's search ranges, by optuna, on the engines of the grid.

A trial is a run like any other, in a folder of the same layout. Which settings are tried follows
from the seed alone, so a search that was interrupted asks for the same trials once more, and finds
most of them done.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import Trial, TrialState

from hardalign.experiments.engine import Engine, State, Watcher, prepare
from hardalign.experiments.runs import Run, epochs_of
from hardalign.files import write_bytes, write_json
from hardalign.systems import find_system

Method = Literal["random", "halving"]

RANGES: dict[str, tuple[float, ...]] = {
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
STOPPED = "stopped.json"
"""In the folder of a trial that halving gave up, with the epoch after which it did."""


@dataclass(frozen=True)
class Trials:
    """How the trials of a search stand."""

    states: dict[Run, State]
    values: dict[Run, float]
    """The best development log-likelihood of each complete trial."""

    @property
    def best(self) -> Run | None:
        """The best complete trial, if there is one."""
        return max(self.values, key=self.values.__getitem__, default=None)


def ranges_of(system: str) -> dict[str, tuple[float, ...]]:
    """Returns what is searched for a system."""
    draws = find_system(system).objective in ("reinforce", "particles")
    return RANGES | ({"samples": SAMPLES} if draws else {})


class Tuning:
    """A search as it goes: optuna's study, and the run of each of its trials."""

    def __init__(
        self,
        base: Run,
        folder: Path,
        *,
        trials: int,
        method: Method,
        ranges: dict[str, tuple[float, ...]] | None = None,
    ) -> None:
        """Plan a search.

        Args:
            base: What all trials have in common; its seed also decides what they try.
            folder: Where the trials' folders are.
            trials: How many different settings to try.
            method: Whether to see all through, or only those that do well early.
            ranges: What to try; if not given, the paper's ranges for the system.
        """
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._base, self._folder = base, folder
        ranges = ranges_of(base.system) if ranges is None else ranges
        self._space: dict[str, BaseDistribution] = {
            name: CategoricalDistribution(choices) for name, choices in ranges.items()
        }
        self._left = min(trials, math.prod(map(len, ranges.values())))
        self._study = optuna.create_study(
            direction="maximize",
            sampler=optuna.samplers.RandomSampler(base.seed),
            pruner=optuna.pruners.SuccessiveHalvingPruner(FIRST_RUNG, REDUCTION)
            if method == "halving"
            else optuna.pruners.NopPruner(),
        )
        self._running: dict[Run, Trial] = {}
        self._told: dict[Run, int] = {}  # the last epoch that the study knows of
        self.trials = Trials({}, {})

    def run(self, engine: Engine, watcher: Watcher) -> Trials:
        """See the search through."""
        try:
            while self._left or self._running:
                while self._left and engine.free():
                    self._begin(engine)
                watcher.update(self.trials.states)
                if self._running:
                    for run, outcome in engine.ended():
                        self._end(run, outcome)
                for run, trial in list(self._running.items()):
                    if self._is_hopeless(run, trial):
                        engine.stop(run)
                        epoch = self._told[run]
                        write_json(self._folder / run.name / STOPPED, {"epoch": epoch})
                        self._end(run, "stopped")
            watcher.update(self.trials.states)
        finally:
            engine.close()
        return self.trials

    def _begin(self, engine: Engine) -> None:
        """Start the next trial, or see that it was run before."""
        trial = self._study.ask(self._space)
        run = replace(self._base, overrides={**self._base.overrides, **trial.params})
        if run in self.trials.states:  # chance may choose the same once more
            self._study.tell(trial, state=TrialState.FAIL)
            return
        self._left -= 1
        self._running[run], self._told[run] = trial, 0
        unfinished = prepare(self._folder, run)
        if (self._folder / run.name / STOPPED).exists():
            self._is_hopeless(run, trial)  # tells the study what it was told then
            self._end(run, "stopped")
        elif not unfinished:
            self._end(run, "done")
        else:
            engine.start(run)
            self.trials.states[run] = "running"

    def _is_hopeless(self, run: Run, trial: Trial) -> bool:
        """Tell the study of new epochs, and ask whether it would stop after one of them."""
        hopeless = False
        for row in epochs_of(self._folder / run.name)[self._told[run] :]:
            trial.report(row["dev_log_likelihood"], row["epoch"])
            hopeless = trial.should_prune() or hopeless
            self._told[run] = row["epoch"]
        return hopeless

    def _end(self, run: Run, state: State) -> None:
        trial = self._running.pop(run)
        self.trials.states[run] = state
        if state == "done":
            self._is_hopeless(run, trial)  # it is too late to stop, but others are compared with it
            rows = epochs_of(self._folder / run.name)
            value = max(row["dev_log_likelihood"] for row in rows)
            self.trials.values[run] = value
            self._study.tell(trial, value)
        elif state == "stopped":
            self._study.tell(trial, state=TrialState.PRUNED)
        else:
            self._study.tell(trial, state=TrialState.FAIL)


def write_plan(path: Path, run: Run, comment: str) -> None:
    """Write a plan for ``hardalign reproduce`` that has one run."""
    tables = {
        "": {
            "systems": [run.system],
            "sizes": [run.size],
            "corpora": [run.corpus],
            "seeds": [run.seed],
        },
        "\n[overrides]": run.overrides,
    }
    if run.files is not None:
        files = asdict(run.files)
        del files["sha256"]
        tables[f"\n[data.{run.corpus}]"] = files
    lines = [f"# {comment}"]
    for head, table in tables.items():
        lines += [head] * bool(head)
        lines += (f"{name} = {json.dumps(value)}" for name, value in table.items())
    write_bytes(path, ("\n".join(lines) + "\n").encode())
