"""A folder for a run: a new one, one that is replaced, or that of the same run before."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from hardalign.errors import HardalignError
from hardalign.files import (
    HOLDER,
    JSON_LIMIT,
    LOCK,
    explained,
    locked,
    make_folder,
    read_bytes,
    remove_fragments,
    write_bytes,
)
from hardalign.model_folder import (
    CHECKPOINT,
    CONFIG,
    KNOWN_FORMS,
    MEMBER,
    METRICS,
    VOCABULARY,
    WEIGHTS,
    Description,
    description_files,
    read_description,
)

FILES = (CHECKPOINT, WEIGHTS, METRICS, VOCABULARY, KNOWN_FORMS, CONFIG)
HELD_OUT = "held-out"
"""The folder, within that of a refitted model, of the run that leaves the development set out."""


def claim_folder(
    folder: Path,
    description: Description,
    *,
    resume: bool = False,
    overwrite: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> Description:
    """Make sure that a run may write to a folder, which is locked, and describe the run in it.

    Args:
        folder: An empty or new one; any other needs ``resume`` or ``overwrite``.
        description: Of the run that wants it.
        resume: Keep what is there; it must be the same run, though it may now go on for longer.
        overwrite: Remove the model that is there.
        note: Is told what the user should know.

    Returns:
        The description with the number of threads: what was asked for, or what the run had before.

    Raises:
        HardalignError: If the folder is taken, or cannot be written.
    """
    threads = description.training.threads
    with explained(folder, "written"):
        make_folder(folder)
        remove_fragments(folder)
        taken = contents(folder)
        if taken and resume:
            threads = _check_same_run(folder, description, taken, note)
        elif taken and overwrite:
            remove_model(folder)
        elif taken:
            raise not_empty(folder)
    training = replace(description.training, threads=threads or default_threads())
    description = replace(description, training=training)
    for name, content in description_files(description).items():
        path = folder / name
        if not path.exists() or read_bytes(path, JSON_LIMIT) != content:
            write_bytes(path, content)
    return description


def contents(folder: Path) -> set[str]:
    """Returns the names of what is in a folder, but for its lock."""
    return {path.name for path in folder.iterdir()} - {LOCK, HOLDER}


def remove_model(folder: Path) -> None:
    """Remove a model, its members and its held-out run; files that are not ours stay.

    A link in place of a part is removed itself: what it points to belongs to somebody else.

    Raises:
        BusyError: If another process is training a part. Nothing is removed then.
    """
    parts = [*folder.glob(MEMBER.format("*")), folder / HELD_OUT]
    with ExitStack() as locks:
        held = [part for part in parts if part.is_dir() and not part.is_symlink()]
        for part in held:
            locks.enter_context(locked(part, f"overwrite {folder}"))
        for part in held:
            remove_model(part)
            remove_fragments(part)
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
    for part in parts:
        if part.is_symlink():
            part.unlink()
        elif part.is_dir():
            (part / LOCK).unlink(missing_ok=True)
            with suppress(OSError):  # somebody keeps something there
                part.rmdir()


def not_empty(folder: Path) -> HardalignError:
    """Returns the error that a folder is taken by another run."""
    return HardalignError(
        f"{folder}: is not empty; go on with resume, replace it with overwrite, "
        "or choose another folder"
    )


def default_threads() -> int:
    """Returns 2, as more gain nothing, where waiting threads do not spin for long; otherwise 1.

    Threads that spin starve beside a busy process: 2 of them then train at a tenth of the speed of
    one. The command line sees to it; a program that imports hardalign decides for itself.
    """
    patient = os.environ.get("OMP_WAIT_POLICY", "").lower() == "passive"
    if patient or "GOMP_SPINCOUNT" in os.environ:
        return min(2, torch.get_num_threads())
    return 1


def _check_same_run(
    folder: Path, description: Description, taken: set[str], note: Callable[[str], None]
) -> int | None:
    """Refuse to go on with another run; returns the number of threads to go on with."""
    now = description.training
    if CONFIG not in taken:
        _check_beginning(folder, description, taken)
        return now.threads
    before = read_description(folder)
    if before.schedule is not None and description.schedule is None:
        raise _begun_with_refit(folder)
    threads = before.training.threads
    same = replace(before.training, epochs=now.epochs, threads=now.threads)
    before = replace(before, training=same, temperature=description.temperature)
    if min(before.members, description.members) > 1:  # an ensemble may grow
        before = replace(before, members=description.members)
    for field in fields(before):
        old, new = getattr(before, field.name), getattr(description, field.name)
        if old != new:
            raise HardalignError(
                f"{folder}: cannot resume, its {field.name} was another: {_difference(old, new)}; "
                "give the same options, or start anew with overwrite"
            )
    if CHECKPOINT in taken and (threads is None or now.threads not in (None, threads)):
        note(
            f"{folder}: was trained with {threads or 'an unknown number of'} threads until now; "
            "with another number the weights can differ in their last digits from those of a run "
            "that was not interrupted"
        )
    return now.threads or threads


def _check_beginning(folder: Path, description: Description, taken: set[str]) -> None:
    """Refuse files of a model without settings, unless a run was killed while it began."""
    if HELD_OUT in taken and description.schedule is None:
        raise _begun_with_refit(folder)
    begun = description_files(description)
    for name in sorted(taken & set(FILES)):
        if name not in begun or read_bytes(folder / name, JSON_LIMIT) != begun[name]:
            raise HardalignError(
                f"{folder}: cannot resume: it has a {name} but no {CONFIG} that says of which run; "
                "choose another folder, or start anew with overwrite"
            )


def _begun_with_refit(folder: Path) -> HardalignError:
    return HardalignError(
        f"{folder}: cannot resume: it was begun with refit; give that too, or start anew with "
        "overwrite"
    )


def _difference(old: Any, new: Any) -> str:
    """Returns the first setting that differs, as it was and as it is."""
    if not hasattr(old, "to_dict") or not hasattr(new, "to_dict"):
        return f"{old!r:.200}, now {new!r:.200}"
    before, now = old.to_dict(), new.to_dict()
    name = next(name for name in {**before, **now} if before.get(name) != now.get(name))
    return f"{name} {before.get(name)!r:.200}, now {now.get(name)!r:.200}"
