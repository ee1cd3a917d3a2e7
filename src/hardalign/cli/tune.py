"""``hardalign tune``: a search for good hyperparameters."""

from __future__ import annotations

import signal
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from hardalign.cli.console import note
from hardalign.cli.engines import EngineOptions
from hardalign.cli.options import Number
from hardalign.errors import HardalignError
from hardalign.systems import SYSTEMS


def tune(
    *,
    corpus: Annotated[str, tyro.conf.arg(metavar="NAME")],
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")],
    system: Annotated[str, tyro.conf.arg(metavar=f"{{{','.join(SYSTEMS)}}}")] = "soft",
    trials: int = 20,
    method: Literal["halving", "random"] = "halving",
    words: Number = None,
    epochs: int = 50,
    seed: int = 0,
    where: EngineOptions = EngineOptions(),  # noqa: B008 - frozen
) -> None:
    """Search for good hyperparameters in the ranges that the paper searched.

    $ hardalign tune --corpus conll2017/danish --out runs/tune

    Settings are drawn at random from the paper's ranges for embeddings, encoder, decoder, their
    layers and dropout, and for samples where training draws any; the best is the one of the highest
    development log-likelihood in any epoch. Trials are runs as those of hardalign reproduce. DIR
    gets best.toml, a plan for it. The same command once more goes on where it was interrupted; with
    more trials, it adds to those that are there.

    Args:
        corpus: What to train on.
        out: Folder for the trials.
        system: What to train.
        trials: How many settings to try.
        method: random sees all trials through; halving lets only the better third of them go on
            after 2, 6, 18, … epochs (asynchronous successive halving).
        words: Use only so many words of the corpus.
        epochs: Most passes over the data in a trial.
        seed: Decides what is tried; and weights, order and dropout of all trials.
        where: Where to run.
    """
    from hardalign.cli.runs_table import RunsTable
    from hardalign.experiments.plan import check_corpus
    from hardalign.experiments.runs import Run
    from hardalign.experiments.settings import settings_of
    from hardalign.files import make_folder

    try:
        from hardalign.experiments.tune import Tuning, write_plan
    except ModuleNotFoundError:
        raise HardalignError(
            "tuning needs a package; install it with pip install 'hardalign[tune]'"
        ) from None
    for name, value in (("trials", trials), ("epochs", epochs)):
        if value < 1:
            raise HardalignError(f"--{name} must be at least 1, not {value}")
    check_corpus(corpus)
    overrides: dict[str, Any] = {"epochs": epochs} | ({} if words is None else {"words": words})
    base = Run(corpus, system, "large", seed, overrides)
    settings_of(base)
    make_folder(out)
    tuning = Tuning(base, out, trials=trials, method=method)
    try:
        # Ray says on standard output what happens to its machines.
        with redirect_stdout(sys.stderr), RunsTable(out) as table:
            found = tuning.run(where.open(out), table)
    except KeyboardInterrupt:
        note(f"interrupted; the same command goes on with the trials in {out}")
        sys.exit(128 + signal.SIGINT)
    for run, score in sorted(found.values.items(), key=lambda item: -item[1]):
        tried = (f"{name}={run.overrides[name]}" for name in run.overrides if name not in overrides)
        print(f"{score:.4f}\t{' '.join(tried)}")
    states = list(found.states.values())
    counts = {state: states.count(state) for state in ("done", "stopped", "failed", "busy")}
    best = found.best
    if best is not None:
        comment = f"The best of {len(states)} trials: dev log-likelihood {found.values[best]:.4f}"
        write_plan(out / "best.toml", best, comment)
        note(f"{out / 'best.toml'}: a plan of the best")
    note(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    sys.exit(0 if best is not None and not counts["failed"] and not counts["busy"] else 1)
