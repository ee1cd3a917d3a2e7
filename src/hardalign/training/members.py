"""Ensembles: the same run with several seeds, each in a folder of its own within one."""

from __future__ import annotations

import os
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
from typing import Any

from hardalign.errors import HardalignError
from hardalign.folder import member_folders
from hardalign.lock import locked
from hardalign.training.claim import claim_folder
from hardalign.training.job import Development, Reporter
from hardalign.training.run import Run, calibrate, train_folder

Task = tuple[Path, Run]


def train_members(folder: Path, run: Run, processes: int, reporter: Reporter) -> None:
    """Trains the members of an ensemble, then finds one temperature for all together.

    Members that are complete are not trained again when the run is resumed.

    Args:
        folder: Of the ensemble.
        run: Of the first member; each other has the next seed.
        processes: How many members to train at a time, each in a process of its own; 1 trains them
            one after the other in this one.
        reporter: Is told how training goes; of several processes, by notes.

    Raises:
        HardalignError: If a member's training fails.
    """
    with locked(folder, f"train {uuid.uuid4()}"):
        description = claim_folder(
            folder, run.description, resume=run.resume, overwrite=run.overwrite, note=reporter.note
        )
        tasks = []
        for k, path in enumerate(member_folders(folder, description.members)):
            training = replace(description.training, seed=description.training.seed + k)
            own = replace(description, training=training, members=1)
            tasks.append((path, replace(run, description=own)))
        if processes == 1:
            for number, (path, task) in enumerate(tasks, start=1):
                reporter.note(f"member {number} of {len(tasks)}: {path}")
                train_folder(path, task, reporter)
        else:
            _train_beside(tasks, processes, reporter)
        if description.training.epochs:
            calibrate(folder, Development.of(run.dev, description.vocabulary).pairs)


def _train_beside(tasks: Sequence[Task], processes: int, reporter: Reporter) -> None:
    """Trains so many members at a time; all end with the first failure, or with this process."""
    context = get_context("spawn")  # torch does not survive a fork
    waiting = list(tasks)
    running: dict[Any, tuple[Path, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                folder, run = waiting.pop(0)
                ours, theirs = context.Pipe(duplex=False)
                worker = context.Process(target=_work, args=(folder, run, theirs), daemon=True)
                with _interrupts_held():
                    worker.start()
                theirs.close()
                running[ours] = folder, worker
            ready = wait(list(running))
            for connection in [one for one in running if one in ready]:
                folder, process = running[connection]
                try:
                    failed, text = connection.recv()
                except EOFError:
                    del running[connection]
                    process.join()
                    if process.exitcode:
                        raise HardalignError(
                            f"{folder}: its process ended with status {process.exitcode}; "
                            "go on with resume"
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


def _work(folder: Path, run: Run, connection: Connection) -> None:
    """Trains one member in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be held
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        train_folder(folder, run, _Sender(connection))
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
        """Pass it on."""
        self._connection.send((False, text))

    def epoch(self, row: dict[str, Any]) -> None:
        """Tell of a complete epoch in one line."""
        self.note(f"epoch {row['epoch']}, dev acc {row['dev_acc']:.2f}, {row['seconds']:.0f} s")
