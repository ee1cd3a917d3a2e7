"""One run from start to end in this process: load, train or go on training, evaluate, record."""

from __future__ import annotations

from pathlib import Path

from hardalign.corpora.load import Corpus, load_corpus
from hardalign.data.example import evaluation_items
from hardalign.experiments.runs import FAILURE, MODEL, RESULT, Result, Run, read_result
from hardalign.experiments.settings import settings_of
from hardalign.files import sha256, write_json
from hardalign.metrics import evaluate, score_item
from hardalign.predictor import load
from hardalign.training.api import train
from hardalign.training.checkpoint import Progress, read_checkpoint
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
    """Complete a run, from the last epoch that its folder has; at once if it is complete already.

    Args:
        run: What to do.
        folder: Of this run, held by ``lock.locked``.
        reporter: Is told how training goes.
        data_dir: Where local copies of the corpora are.
        device: What to train on.

    Raises:
        HardalignError: If the data is not there, or training diverges.
    """
    if (folder / RESULT).exists():
        return read_result(folder)
    settings = settings_of(run)
    options = settings.corpus
    # The seed is for weights and order alone: all runs of a corpus must have the same test words.
    corpus = load_corpus(
        run.corpus, stress=not options.strip_stress, size=options.words, data_dir=data_dir
    )
    # Runs side by side use the cores better than one run's threads.
    recipe = settings.training.to_dict() | {"threads": settings.training.threads or 1}
    train(
        corpus,
        out=folder / MODEL,
        system=settings.model.system,
        size=settings.model,
        device=device,
        resume=True,
        reporter=reporter,
        **recipe,
    )
    checkpoint = read_checkpoint(folder / MODEL)
    progress = checkpoint.progress if checkpoint else Progress(settings.training.learning_rate)
    result = _evaluate(run, folder, corpus, progress)
    (folder / FAILURE).unlink(missing_ok=True)
    write_json(folder / RESULT, result.to_dict())
    return result


def _evaluate(run: Run, folder: Path, corpus: Corpus, progress: Progress) -> Result:
    predictor = load(folder / MODEL)
    items = evaluation_items(corpus.test)
    predictions = [found.symbols for found in predictor.predict(items)]
    references = [item.targets for item in items]
    scores = [score_item(*pair) for pair in zip(predictions, references, strict=True)]
    return Result(
        run=run,
        metrics=evaluate(predictions, references).as_dict(),
        parameters=sum(parameter.numel() for parameter in predictor.model.parameters()),
        epochs=progress.epoch,
        seconds=sum(row["seconds"] for row in progress.history),
        sources=len(items),
        correct=[int(score.correct) for score in scores],
        distances=[score.distance for score in scores],
        sources_sha256=sha256(repr([item.key for item in items]).encode()),
        version=__version__,
    )
