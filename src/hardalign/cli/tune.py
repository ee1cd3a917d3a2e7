"""``hardalign tune``: a search for good hyperparameters."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from hardalign.cli.console import note
from hardalign.cli.engines import EngineOptions, watched_runs
from hardalign.cli.options import CorpusName, FileOptions, Folder, Number, OptionalFile, Text
from hardalign.errors import HardalignError
from hardalign.systems import DEFAULT_SYSTEM, SYSTEMS


def tune(
    train: Annotated[Text, tyro.conf.Positional, tyro.conf.arg(metavar="TRAIN")] = None,
    *,
    out: Folder,
    dev: OptionalFile = None,
    test: OptionalFile = None,
    corpus: CorpusName = None,
    system: Annotated[str, tyro.conf.arg(metavar=f"{{{','.join(SYSTEMS)}}}")] = DEFAULT_SYSTEM,
    trials: int = 20,
    method: Literal["halving", "random"] = "halving",
    words: Number = None,
    target_parts: bool = False,
    epochs: int = 50,
    seed: int = 0,
    files: FileOptions = FileOptions(),  # noqa: B008 - frozen
    where: EngineOptions = EngineOptions(),  # noqa: B008 - frozen
) -> None:
    """Search for good hyperparameters in the ranges that the paper searched.

    $ hardalign tune words.tsv --dev dev.tsv --format lexicon --out runs/tune

    $ hardalign tune --corpus conll2017/danish --out runs/tune

    Settings are drawn at random from the paper's ranges for embeddings, encoder, decoder, their
    layers and dropout, and for samples where training draws any; the best is the one of the highest
    development log-likelihood in any epoch. Trials are runs as those of hardalign reproduce. DIR
    gets best.toml, a plan for it. The same command once more goes on where it was interrupted; with
    more trials, it adds to those that are there.

    Args:
        train: File of training pairs.
        out: Folder for the trials.
        dev: File of development pairs, of the same format; decides which trial is the best.
        test: File of test pairs; figures of the trials are on it. (default: the development pairs)
        corpus: Instead of files: a name that hardalign corpora lists.
        system: What to train.
        trials: How many settings to try.
        method: random sees all trials through; halving lets only the better third of them go on
            after 2, 6, 18, … epochs (asynchronous successive halving).
        words: Use only so many words of the corpus.
        target_parts: Learn and write target symbols of several characters (tʰ, aː) character by
            character.
        epochs: Most passes over the data in a trial.
        seed: Decides what is tried; and weights, order and dropout of all trials.
        files: How the files are read.
        where: Where to run.
    """
    from hardalign.cli.runs_table import note_failures
    from hardalign.experiments.plan import check_corpus
    from hardalign.experiments.settings import settings_of
    from hardalign.experiments.tune import draw_trials, ranges_of, run_trials, write_plan
    from hardalign.runs import DataFiles, Run

    for name, value in (("trials", trials), ("epochs", epochs)):
        if value < 1:
            raise HardalignError(f"--{name} must be at least 1, not {value}")
    data, settings = None, files.settings
    overrides: dict[str, Any] = {"epochs": epochs} | ({} if words is None else {"words": words})
    if target_parts:
        overrides["target_parts"] = True
    if (normal_form := settings.pop("normalization", None)) is not None:
        overrides["normalization"] = normal_form
    if corpus is not None:
        if train is not None or dev is not None or test is not None:
            raise HardalignError("give either files or --corpus, not both")
        if files.format or settings:
            raise HardalignError(
                "a corpus has its own format: of the options for files, --corpus takes "
                "--normalization alone"
            )
        check_corpus(corpus)
    elif train is None or dev is None:
        raise HardalignError("give a training file and --dev FILE, or --corpus NAME")
    else:
        paths = (Path(train), Path(dev), Path(test or dev))
        data = DataFiles.of(*paths, files.format or "pairs", **settings)
    base = Run(corpus or "files", system, "large", seed, overrides, data)
    settings_of(base)
    runs = draw_trials(base, trials, ranges_of(system))
    where.check()
    with watched_runs(out) as table:
        results = run_trials(runs, out, where.open(out), table, method)
    for run, score in sorted(results.values.items(), key=lambda item: -item[1]):
        tried = (f"{name}={run.overrides[name]}" for name in run.overrides if name not in overrides)
        print(f"{score:.4f}\t{' '.join(tried)}")
    states = list(results.states.values())
    counts = {state: states.count(state) for state in ("done", "stopped", "failed", "busy")}
    best = results.best
    if best is not None:
        comment = f"The best of {len(states)} trials: dev log-likelihood {results.values[best]:.4f}"
        write_plan(out / "best.toml", best, comment)
        note(f"{out / 'best.toml'}: a plan of the best")
    note_failures(results.states, out)
    note(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    sys.exit(0 if best is not None and not counts["failed"] and not counts["busy"] else 1)
