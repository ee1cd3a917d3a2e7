"""A run in a folder of its own: claim it, train, find the temperature, and maybe train again."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hardalign.data.formats import Example
from hardalign.data.text import plural
from hardalign.data.vocabulary import Vocabulary
from hardalign.errors import HardalignError
from hardalign.files import explained, locked
from hardalign.model_folder import (
    CONFIG,
    Description,
    load_members,
    read_description,
    write_description,
)
from hardalign.systems.build import build_members
from hardalign.training.calibration import fit_temperature
from hardalign.training.checkpoint import read_checkpoint
from hardalign.training.claim import HELD_OUT, claim_folder, contents, not_empty, remove_model
from hardalign.training.job import Development, Job, Reporter
from hardalign.training.loop import train
from hardalign.training.machine import Machine
from hardalign.training.warmstart import Start


@dataclass(frozen=True)
class Task:
    """What to train, on what, and into which folder; can travel to another process."""

    folder: Path
    description: Description
    train: list[Example]
    dev: list[Example]
    machine: Machine
    start: Start | None = None
    resume: bool = False
    overwrite: bool = False


Train = Callable[[Task, Reporter], None]
"""Trains one model, or the members of an ensemble, into a folder that is locked."""


def train_model(task: Task, reporter: Reporter) -> None:
    """Trains one model, and leaves it calibrated, unless it has learned its development set too.

    Raises:
        HardalignError: If the folder, which is locked, cannot be used, or training diverges.
    """
    claim = claimed(task, reporter)
    job = Job.of(claim.folder, claim.description, claim.train, claim.dev, claim.start)
    if unspellable := job.development.unspellable:
        targets = plural(unspellable, "development target has", "development targets have")
        reporter.note(
            f"{targets} symbols never seen in training: wrong whatever is predicted, and left "
            "out of the development log-likelihood"
        )
    progress = train(job, claim.machine, reporter)
    if progress.epoch and claim.description.schedule is None:
        calibrate(claim.folder, job.development)


def claimed(task: Task, reporter: Reporter) -> Task:
    """Claims the folder of a task, which is locked; returns it with the threads it will have.

    Raises:
        HardalignError: If the folder cannot be used.
    """
    description = claim_folder(
        task.folder,
        task.description,
        resume=task.resume,
        overwrite=task.overwrite,
        note=reporter.note,
    )
    return replace(task, description=description)


def train_folder(task: Task, reporter: Reporter, work: Train = train_model) -> None:
    """Trains into a folder, which is locked for as long as it takes.

    Raises:
        HardalignError: If the folder cannot be used, or training diverges.
    """
    with locked(task.folder, f"train {uuid.uuid4()}"):
        work(task, reporter)


def train_again(task: Task, reporter: Reporter, work: Train) -> None:
    """Finds epochs and learning rates with a development set held out, then trains on all.

    The second run has as many epochs as the first, each by the learning rate that it had there, and
    keeps the last, by the smallest rate; so has each member of an ensemble. The temperature is the
    first one's, too: nothing is left to find another on.

    Raises:
        HardalignError: If a folder cannot be used, or training diverges.
    """
    train_folder(task, reporter, partial(_train_again, work=work))


def _train_again(task: Task, reporter: Reporter, work: Train) -> None:
    folder = task.folder
    if task.overwrite:
        with explained(folder, "written"):
            remove_model(folder)
    elif not task.resume and contents(folder):
        raise not_empty(folder)
    elif (folder / CONFIG).exists() and read_description(folder).schedule is None:
        raise HardalignError(
            f"{folder}: cannot resume: it was begun without refit; leave that out, or start "
            "anew with overwrite"
        )
    held_out = folder / HELD_OUT
    train_folder(replace(task, folder=held_out), reporter, work)
    examples = task.train + task.dev
    vocabulary = Vocabulary.of(examples)
    description = replace(
        task.description,
        vocabulary=task.start.extended(vocabulary) if task.start else vocabulary,
        temperature=read_description(held_out).temperature,
        schedule=(),
    )
    if description.members == 1:
        description = scheduled(description, held_out)
    reporter.note(f"{folder}: once more, on training and development data together")
    # The folder has the first run's in it by now, but is otherwise as it was before.
    again = replace(task, description=description, train=examples, resume=True, overwrite=False)
    work(again, reporter)


def scheduled(description: Description, held_out: Path) -> Description:
    """Returns the description of a run that learns by the rates that another has found."""
    checkpoint = read_checkpoint(held_out)
    epochs = checkpoint.progress.history if checkpoint else []
    return replace(
        description,
        training=replace(description.training, epochs=len(epochs)),
        schedule=tuple(row["learning_rate"] for row in epochs),
    )


def calibrate(folder: Path, development: Development) -> None:
    """Writes the temperature into a model's folder that makes its probabilities believable."""
    members, description = load_members(folder)
    runtime = build_members(
        [(member.model, tensors) for tensors, member in members], description.vocabulary
    )
    temperature = fit_temperature(runtime, development, description.vocabulary)
    write_description(folder, replace(description, temperature=round(temperature, 4)))
