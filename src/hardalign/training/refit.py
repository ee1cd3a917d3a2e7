"""Training on all there is, once a run with a development set has found for how long."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hardalign.data.vocabulary import Vocabulary
from hardalign.errors import HardalignError
from hardalign.folder import read_description
from hardalign.training.checkpoint import read_checkpoint
from hardalign.training.job import Reporter
from hardalign.training.run import Run, train_folder

HELD_OUT = "held-out"
"""The folder, within that of the model, of the run that leaves the development set out."""


def train_again(folder: Path, run: Run, reporter: Reporter) -> None:
    """Finds epochs and learning rates with a development set held out, then trains on all.

    The second run has as many epochs as the first needed to its best weights, each by the learning
    rate that it had there, and keeps the last. Its temperature is the first one's, too: nothing is
    left to find another on.

    Raises:
        HardalignError: If a folder cannot be used, or training diverges.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (run.resume or run.overwrite):
        raise HardalignError(
            f"{folder}: is not empty; go on with resume, replace it with overwrite, "
            "or choose another folder"
        )
    held_out = folder / HELD_OUT
    train_folder(held_out, run, reporter)
    checkpoint = read_checkpoint(held_out)
    progress = checkpoint.progress if checkpoint else None
    history = progress.history[: progress.best_epoch] if progress else []
    examples = run.train + run.dev
    vocabulary = Vocabulary.of(examples)
    description = replace(
        run.description,
        vocabulary=run.start.extended(vocabulary) if run.start else vocabulary,
        training=replace(run.description.training, epochs=len(history)),
        temperature=read_description(held_out).temperature,
        schedule=tuple(row["learning_rate"] for row in history),
    )
    reporter.note(f"{folder}: {len(history)} epochs on training and development data together")
    # The folder has the first run's in it by now, but is otherwise as it was found.
    again = replace(run, description=description, train=examples, resume=not run.overwrite)
    train_folder(folder, again, reporter)
