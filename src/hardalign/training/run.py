"""A run in a folder of its own: claim it, train, find the temperature, and maybe train again."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from pathlib import Path

from hardalign.data.encoding import Encoded
from hardalign.data.example import Example
from hardalign.data.vocabulary import Vocabulary
from hardalign.errors import HardalignError
from hardalign.folder import (
    CONFIG,
    Description,
    load_members,
    read_description,
    write_description,
)
from hardalign.lock import locked
from hardalign.runtime.build import build_members
from hardalign.training.calibration import fit_temperature
from hardalign.training.checkpoint import read_checkpoint
from hardalign.training.claim import HELD_OUT, claim_folder, not_empty
from hardalign.training.job import Job, Reporter
from hardalign.training.loop import train
from hardalign.training.machine import Machine
from hardalign.training.warmstart import Start


@dataclass(frozen=True)
class Run:
    """All that a run needs but a folder; can travel to another process."""

    description: Description
    train: list[Example]
    dev: list[Example]
    machine: Machine
    start: Start | None = None
    resume: bool = False
    overwrite: bool = False


def train_folder(folder: Path, run: Run, reporter: Reporter) -> None:
    """Trains one model, and leaves it calibrated, unless it has learned its development set too.

    Raises:
        HardalignError: If the folder cannot be used, or training diverges.
    """
    with locked(folder, f"train {uuid.uuid4()}"):
        description = claim_folder(
            folder, run.description, resume=run.resume, overwrite=run.overwrite, note=reporter.note
        )
        job = Job.of(folder, description, run.train, run.dev, run.start)
        if job.development.unspellable:
            reporter.note(
                f"{job.development.unspellable} development targets have symbols never seen in "
                "training: they count as wrong, and not in the development log-likelihood"
            )
        progress = train(job, run.machine, reporter)
        if progress.epoch and description.schedule is None:
            calibrate(folder, job.development.pairs)


def train_again(folder: Path, run: Run, reporter: Reporter) -> None:
    """Finds epochs and learning rates with a development set held out, then trains on all.

    The second run has as many epochs as the first needed to its best weights, each by the learning
    rate that it had there, and keeps the last. Its temperature is the first one's, too: nothing is
    left to find another on.

    Raises:
        HardalignError: If a folder cannot be used, or training diverges.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (run.resume or run.overwrite):
        raise not_empty(folder)
    if run.resume and (folder / CONFIG).exists() and read_description(folder).schedule is None:
        raise HardalignError(
            f"{folder}: cannot resume: it was begun without refit; leave that out, or start anew "
            "with overwrite"
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


def calibrate(folder: Path, pairs: list[Encoded]) -> None:
    """Writes the temperature into a folder at which its model finds given pairs most probable."""
    members, description = load_members(folder)
    runtime = build_members(
        [(own.model, tensors) for tensors, own in members], description.vocabulary
    )
    temperature = round(fit_temperature(runtime, pairs), 4)
    write_description(folder, replace(description, temperature=temperature))
