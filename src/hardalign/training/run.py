"""A run in a folder of its own: claim it, train, and find the temperature."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from pathlib import Path

from hardalign.data.encoding import Encoded
from hardalign.data.example import Example
from hardalign.folder import Description, load_members, write_description
from hardalign.lock import locked
from hardalign.runtime.build import build_members
from hardalign.training.calibration import fit_temperature
from hardalign.training.claim import claim_folder
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
            folder,
            run.description,
            resume=run.resume,
            overwrite=run.overwrite,
            note=reporter.note,
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


def calibrate(folder: Path, pairs: list[Encoded]) -> None:
    """Writes the temperature into a folder at which its model finds given pairs most probable."""
    members, description = load_members(folder)
    runtime = build_members(
        [(own.model, tensors) for tensors, own in members], description.vocabulary
    )
    temperature = round(fit_temperature(runtime, pairs), 4)
    write_description(folder, replace(description, temperature=temperature))
