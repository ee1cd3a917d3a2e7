"""One model, or an ensemble: the same run with several seeds, each in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, cast

from hardalign.data.text import plural
from hardalign.errors import HardalignError
from hardalign.files import locked, make_folder
from hardalign.model_folder import (
    CONFIG,
    KNOWN_FORMS,
    METRICS,
    VOCABULARY,
    WEIGHTS,
    differing,
    find_model,
    load_members,
    member_folders,
    read_description,
    write_description,
)
from hardalign.predictor import Predictor, load
from hardalign.systems.model import build_members
from hardalign.training.calibration import fit_temperature
from hardalign.training.loop import train
from hardalign.training.recipe import described
from hardalign.training.run import RESUME, Reporter, Run, open_folder


def train_one(run: Run, reporter: Reporter) -> None:
    """Train one model into its folder, locked for as long as that takes, and calibrate it.

    Raises:
        HardalignError: If the folder cannot be used, or training diverges.
    """
    with locked(run.folder, f"train {uuid.uuid4()}"):
        run = open_folder(run, reporter.note)
        if unspellable := run.development.unspellable:
            targets = plural(unspellable, "development target has", "development targets have")
            reporter.note(
                f"{targets} symbols never seen in training: wrong whatever is predicted, and left "
                "out of the development log-likelihood"
            )
        if train(run, reporter).epoch:
            calibrate(run)
        (run.folder / RESUME).unlink(missing_ok=True)


def train_members(run: Run, reporter: Reporter, members: int, processes: int) -> None:
    """Train the members of an ensemble, then fit one temperature for all together.

    Members that are complete are not trained again when the run is resumed.

    Args:
        run: That of the ensemble; its first member has its seed, each other the next one.
        reporter: Is told how training goes; of several processes, by notes.
        members: How many there are.
        processes: How many members to train at a time, each in a process of its own; 1 trains them
            one after the other in this one.

    Raises:
        HardalignError: If the folder cannot be used, or a member's training fails.
    """
    with locked(run.folder, f"train {uuid.uuid4()}"):
        run = open_folder(run, reporter.note)
        reporter.note(described(run.examples, run.description.model, run.description.training))
        description, config = run.description, run.description.training
        runs = [
            replace(
                run,
                call=None,
                folder=folder,
                description=replace(
                    description, training=replace(config, seed=config.seed + k), members=1
                ),
            )
            for k, folder in enumerate(member_folders(run.folder, members))
        ]
        if processes == 1:
            for number, one in enumerate(runs, start=1):
                reporter.note(f"member {number} of {members}: {one.folder}")
                train_one(one, reporter)
        else:
            _train_beside(runs, processes, reporter)
        if config.epochs:
            calibrate(run)
        (run.folder / RESUME).unlink(missing_ok=True)


def calibrate(run: Run) -> None:
    """Fit the temperature of the model in a run's folder, if there is development data."""
    if not run.dev:
        return
    members, description = load_members(run.folder)
    runtime = build_members(
        [(own.model, tensors) for tensors, own in members], description.vocabulary
    )
    temperature = round(fit_temperature(runtime, run.development, description.vocabulary), 4)
    if temperature != description.temperature:
        write_description(run.folder, replace(description, temperature=temperature))


def join(*models: str | Path, out: str | Path) -> Predictor:
    """Make an ensemble of models that were trained one by one on the same data, and load it.

    >>> hardalign.join("runs/seed0", "runs/seed1", "runs/seed2", out="runs/three")

    Args:
        models: Folders of models of the same system and sizes, with the same symbols and format.
        out: A new folder for the ensemble; it holds copies of the models.

    Returns:
        The ensemble. Its temperature is the geometric mean of its members'.

    Raises:
        HardalignError: If the models do not fit together, or the folder is not empty.
    """
    folders = [find_model(model) for model in models]
    if len(folders) < 2:
        raise HardalignError("an ensemble has at least two models")
    descriptions = [read_description(folder) for folder in folders]
    first = descriptions[0]
    for folder, own in zip(folders, descriptions, strict=True):
        if own.members != 1:
            raise HardalignError(f"{folder}: is an ensemble itself; name its members")
        if what := differing(first, own):
            raise HardalignError(
                f"{folder}: has another {what} than {folders[0]}; only models that were trained "
                "alike, on the same data, can be joined"
            )
    out = Path(out)
    make_folder(out)
    with locked(out, f"join {uuid.uuid4()}"):
        if (out / CONFIG).exists() or any(out.glob("member-*")):
            raise HardalignError(f"{out}: is not empty; choose another folder")
        for folder, member in zip(folders, member_folders(out, len(folders)), strict=True):
            make_folder(member)
            for name in (WEIGHTS, METRICS, VOCABULARY, KNOWN_FORMS, CONFIG):
                if (folder / name).exists():
                    shutil.copyfile(folder / name, member / name)
        product = 1.0
        for own in descriptions:
            product *= own.temperature ** (1 / len(descriptions))
        temperature = round(product, 4)
        write_description(out, replace(first, members=len(folders), temperature=temperature))
    return load(out)


def _train_beside(runs: Sequence[Run], processes: int, reporter: Reporter) -> None:
    """Trains so many members at a time; all end with the first failure, or with this process."""
    context = get_context("spawn")  # torch does not survive a fork
    waiting = list(runs)
    running: dict[Connection, tuple[Path, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                run = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                worker = context.Process(target=_work, args=(run, sender), daemon=True)
                with _interrupts_held():
                    worker.start()
                sender.close()
                running[receiver] = run.folder, worker
            for connection in cast(list[Connection], wait(list(running))):
                folder, process = running[connection]
                try:
                    failed, text = connection.recv()
                except EOFError:
                    del running[connection]
                    process.join()
                    if process.exitcode:
                        raise HardalignError(
                            f"{folder}: its process ended with status {process.exitcode}; "
                            "go on with --resume"
                        ) from None
                    continue
                if failed:
                    raise HardalignError(text)
                reporter.note(f"{folder.name}: {text}")
    finally:
        for _, process in running.values():
            process.kill()  # every file is written whole or not at all
            process.join()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Lets a Ctrl-C wait. Processes started meanwhile hold it too, from their first moment on.

    Ctrl-C is for this process, which ends them; a process that gets it while it still imports would
    end with a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # it would be started with the first process, and unblock
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(run: Run, connection: Connection) -> None:
    """Trains one member in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be held
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        train_one(run, _Sender(connection))
        connection.send((False, "complete"))
    except HardalignError as error:
        connection.send((True, str(error)))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class _Sender(Reporter):
    """A ``Reporter`` that tells another process."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def note(self, text: str) -> None:
        """Pass on what the user should know."""
        self._connection.send((False, text))

    def epoch(self, row: dict[str, Any]) -> None:
        """Tell of a complete epoch in one line."""
        acc = "" if row["dev_acc"] is None else f"dev acc {row['dev_acc']:.2f}, "
        self.note(f"epoch {row['epoch']}, {acc}{row['seconds']:.0f} s")
