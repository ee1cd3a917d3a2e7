"""Ensembles: the same run with several seeds, each in a folder of its own within one."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, cast

from hardalign.errors import HardalignError
from hardalign.model_folder import member_folders
from hardalign.systems.options import indexer
from hardalign.training.claim import HELD_OUT
from hardalign.training.job import Development, Reporter
from hardalign.training.run import Task, calibrate, claimed, scheduled, train_folder


def train_members(task: Task, reporter: Reporter, processes: int) -> None:
    """Trains the members of an ensemble, then finds one temperature for all together.

    Members that are complete are not trained again when the run is resumed. With a schedule they
    learn their development set too: each by the rates that the member of its seed has found in the
    first run, at whose temperature they answer.

    Args:
        task: That of the ensemble; its first member has its seed, each other the next one.
        reporter: Is told how training goes; of several processes, by notes.
        processes: How many members to train at a time, each in a process of its own; 1 trains them
            one after the other in this one.

    Raises:
        HardalignError: If a member's training fails.
    """
    claim = claimed(task, reporter)
    description, training = claim.description, claim.description.training
    members = []
    for k, folder in enumerate(member_folders(claim.folder, description.members)):
        seeded = replace(training, seed=training.seed + k)
        own = replace(description, training=seeded, members=1)
        if description.schedule is not None:
            own = scheduled(own, claim.folder / HELD_OUT / folder.name)
        members.append(replace(claim, folder=folder, description=own))
    if processes == 1:
        for number, member in enumerate(members, start=1):
            reporter.note(f"member {number} of {len(members)}: {member.folder}")
            train_folder(member, reporter)
    else:
        _train_beside(members, processes, reporter)
    if training.epochs and description.schedule is None:
        numbers = indexer(description.model, description.vocabulary, description.format)
        calibrate(claim.folder, Development.of(claim.dev, numbers))


def _train_beside(tasks: Sequence[Task], processes: int, reporter: Reporter) -> None:
    """Trains so many members at a time; all end with the first failure, or with this process."""
    context = get_context("spawn")  # torch does not survive a fork
    waiting = list(tasks)
    running: dict[Connection, tuple[Path, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                task = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                worker = context.Process(target=_work, args=(task, sender), daemon=True)
                with _interrupts_held():
                    worker.start()
                sender.close()
                running[receiver] = task.folder, worker
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


def _work(task: Task, connection: Connection) -> None:
    """Trains one member in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be held
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        train_folder(task, _Sender(connection))
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
        self.note(f"epoch {row['epoch']}, dev acc {row['dev_acc']:.2f}, {row['seconds']:.0f} s")
