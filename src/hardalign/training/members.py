"""Train one model, or an ensemble: the same run with several seeds, each in its own folder."""

from __future__ import annotations

import math
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
from typing import cast

from hardalign.data.formats import training_pairs
from hardalign.data.text import plural
from hardalign.data.vocabulary import END
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
from hardalign.search import predictions
from hardalign.systems.ensemble import fit_temperature
from hardalign.systems.model import build_members
from hardalign.training.loop import train
from hardalign.training.recipe import described
from hardalign.training.run import RESUME, Reporter, Row, Run, open_folder


def train_run(run: Run, reporter: Reporter, processes: int = 1) -> None:
    """Train and calibrate a model, or the members of an ensemble, in a locked folder.

    Members have consecutive seeds, starting with the run's; ``processes`` of them are trained in
    parallel. Resuming skips complete members.
    """
    with locked(run.folder, f"train {uuid.uuid4()}"):
        run = open_folder(run, reporter.note)
        if run.description.members == 1:
            if unspellable := sum(1 for _ in training_pairs(run.dev)) - len(run.dev_pairs):
                targets = plural(unspellable, "development target has", "development targets have")
                reporter.note(
                    f"{targets} symbols never seen in training: always counted as wrong, and "
                    "left out of the development log-likelihood"
                )
            epochs = train(run, reporter).epoch
        else:
            _train_members(run, reporter, processes)
            epochs = run.description.training.epochs
        if epochs and run.dev:
            _calibrate(run)
        (run.folder / RESUME).unlink(missing_ok=True)


def _train_members(run: Run, reporter: Reporter, processes: int) -> None:
    description, config = run.description, run.description.training
    reporter.note(described(run.examples, description.model, config))
    runs = []
    for number, folder in enumerate(member_folders(run.folder, description.members)):
        training = replace(config, seed=config.seed + number)
        member = replace(description, training=training, members=1)
        runs.append(replace(run, folder=folder, description=member, call=None))
    if processes > 1:
        _train_in_processes(runs, processes, reporter)
        return
    for number, one in enumerate(runs, start=1):
        reporter.note(f"member {number} of {len(runs)}: {one.folder}")
        train_run(one, reporter)


def _calibrate(run: Run) -> None:
    """Fit the temperature of the model in a run's folder."""
    members, description = load_members(run.folder)
    vocabulary = description.vocabulary
    runtime = build_members(members, vocabulary)
    answers, right = [], []
    hypotheses = predictions(runtime, [source for source, _ in run.dev_words])
    for (source, references), best in zip(run.dev_words, hypotheses, strict=True):
        if best.finished:
            answers.append(replace(source, target=[*best.symbols, END]))
            right.append(vocabulary.target.decode(best.symbols, source.oov) in references)
    fitted = round(fit_temperature(runtime, answers, right, run.dev_pairs), 4)
    if fitted != description.temperature:
        write_description(run.folder, replace(description, temperature=fitted))


def join(*models: str | Path, out: str | Path) -> Predictor:
    """Combine models trained separately on the same data into an ensemble, and load it.

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
        raise HardalignError("an ensemble needs at least two models")
    descriptions = [read_description(folder) for folder in folders]
    first = descriptions[0]
    for folder, own in zip(folders, descriptions, strict=True):
        if own.members != 1:
            raise HardalignError(f"{folder}: is an ensemble itself; name its members")
        if what := differing(first, own):
            raise HardalignError(
                f"{folder}: has a different {what} from {folders[0]}; only models trained alike, "
                "on the same data, can be joined"
            )
    out = Path(out)
    with locked(out, f"join {uuid.uuid4()}"):
        if (out / CONFIG).exists() or any(out.glob("member-*")):
            raise HardalignError(f"{out}: is not empty; choose another folder")
        for folder, member in zip(folders, member_folders(out, len(folders)), strict=True):
            make_folder(member)
            for name in (WEIGHTS, METRICS, VOCABULARY, KNOWN_FORMS, CONFIG):
                if (folder / name).exists():
                    shutil.copyfile(folder / name, member / name)
        product = math.prod(own.temperature for own in descriptions)
        temperature = round(product ** (1 / len(folders)), 4)
        write_description(out, replace(first, members=len(folders), temperature=temperature))
    return load(out)


def _train_in_processes(runs: Sequence[Run], processes: int, reporter: Reporter) -> None:
    """Train members in parallel; all stop on the first failure, or when this process exits."""
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
            process.kill()  # safe, as files are written atomically
            process.join()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block Ctrl-C, also in processes started meanwhile, from their first moment on.

    This process handles it and ends them; interrupted in its imports, a child prints a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # starting it with the first process would unblock
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(run: Run, connection: Connection) -> None:
    """Train one member, in its own process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be blocked
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        train_run(run, _Sender(connection))
        connection.send((False, "complete"))
    except HardalignError as error:
        connection.send((True, str(error)))


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


class _Sender(Reporter):
    """Sends notes, and a line per epoch, to the parent process."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def note(self, text: str) -> None:
        self._connection.send((False, text))

    def epoch(self, row: Row) -> None:
        acc = "" if row["dev_acc"] is None else f"dev acc {row['dev_acc']:.2f}, "
        self.note(f"epoch {row['epoch']}, {acc}{row['seconds']:.0f} s")
