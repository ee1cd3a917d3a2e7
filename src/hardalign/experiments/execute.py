"""One run from start to end in this process: load, train or go on training, evaluate, record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import hardalign
from hardalign.data.corpora import load_corpus
from hardalign.data.formats import Example, evaluation_items
from hardalign.data.reading import read_examples
from hardalign.errors import HardalignError
from hardalign.experiments.settings import settings_of
from hardalign.files import sha256, write_json
from hardalign.metrics import evaluate
from hardalign.model_folder import MODEL
from hardalign.predictor import Predictor
from hardalign.runs import FAILURE, RESULT, DataFiles, Result, Run, epochs_of, read_result
from hardalign.search import Search
from hardalign.training.job import Reporter
from hardalign.version import __version__


def execute(
    run: Run,
    folder: Path,
    reporter: Reporter,
    *,
    data_dir: Path | None = None,
    device: str = "auto",
) -> Result:
    """Completes a run, from the last epoch that its folder has; at once if it is complete already.

    The folder must be held by ``lock.locked``; ``data_dir`` has local copies of the corpora.

    Raises:
        HardalignError: If the data is not there, or training diverges.
    """
    if (folder / RESULT).exists():
        return read_result(folder)
    settings = settings_of(run)
    options: dict[str, Any] = settings.options | {
        "out": folder / MODEL,
        "device": device,
        "threads": 1,  # runs side by side use the cores better than one run's threads
        "resume": True,
        "reporter": reporter,
    }
    if (files := run.files) is None:
        # The seed is for weights and order alone: all runs must have the same test words.
        corpus = load_corpus(
            run.corpus,
            stress=settings.stress,
            size=settings.words,
            normalization=settings.normalization,
            target_parts=settings.target_parts,
            data_dir=data_dir,
        )
        predictor, test = hardalign.train(corpus, **options), corpus.test
    else:
        _check_unchanged(files)
        layout = replace(
            files.layout,
            normalization=settings.normalization,
            target_parts=settings.target_parts,
        )
        test = list(read_examples(files.test, layout, "evaluation"))
        predictor = hardalign.train(files.train, files.dev, format=layout, **options)
    result = _evaluate(run, folder, predictor, test)
    (folder / FAILURE).unlink(missing_ok=True)
    write_json(folder / RESULT, result.to_dict())
    return result


def _check_unchanged(files: DataFiles) -> None:
    """Refuses files whose content is not what the plan was made for."""
    paths = (Path(files.train), Path(files.dev), Path(files.test))
    if DataFiles.of(*paths, files.format, **files.settings) != files:
        raise HardalignError(
            f"{files.train}, {files.dev} or {files.test} has changed since the plan was read; "
            "give the same command again"
        )


def _evaluate(run: Run, folder: Path, predictor: Predictor, test: list[Example]) -> Result:
    items = evaluation_items(test)
    counted = predictor.description.format.counted
    predictions = [counted(best.symbols) for (best,) in predictor.answers(items, Search())]
    references = [[counted(target) for target in item.targets] for item in items]
    epochs = epochs_of(folder)
    return Result(
        run=run,
        metrics=evaluate(predictions, references).to_dict(),
        parameters=predictor.parameters,
        epochs=len(epochs),
        seconds=sum(row["seconds"] for row in epochs),
        sources=len(items),
        correct=[int(p in targets) for p, targets in zip(predictions, references, strict=True)],
        sources_sha256=sha256(repr([item.key for item in items]).encode()),
        version=__version__,
    )
