"""A run of training: what is trained, on what, into which folder; and how it takes that folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hardalign.data.formats import Example, evaluation_items, training_pairs
from hardalign.data.inflection import hallucinate
from hardalign.data.text import Symbols
from hardalign.data.vocabulary import UNKNOWN, Encoded, Indexer
from hardalign.errors import HardalignError
from hardalign.files import (
    HOLDER,
    LOCK,
    explained,
    locked,
    make_folder,
    read_bytes,
    remove_fragments,
    write_bytes,
    write_json,
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
from hardalign.systems.model import indexer
from hardalign.training.finetune import Start

if TYPE_CHECKING:
    from hardalign.training.checkpoint import Progress

RESUME = "resume.json"
"""What ``train --resume DIR`` needs besides: where the data is. Removed when training is over."""
FILES = (CHECKPOINT, WEIGHTS, METRICS, RESUME, VOCABULARY, KNOWN_FORMS, CONFIG)
HELD_OUT = "held-out"
"""The folder of a first run that 0.2 made, within that of a model that was refitted."""

Note = Callable[[str], None]


@dataclass(frozen=True)
class Development:
    """The development set, numbered once."""

    pairs: list[Encoded]
    """For the log-likelihood: every pair that the vocabulary can spell."""
    unspellable: int
    """Pairs left out of it, because their target has a symbol that the model cannot write."""
    sources: list[Encoded]
    """For the accuracy: every distinct source."""
    references: list[tuple[Symbols, ...]]

    @classmethod
    def of(cls, examples: Sequence[Example], numbers: Indexer) -> Development:
        """Number the examples of a development set."""
        pairs = [numbers.pair(pair) for pair in training_pairs(examples)]
        spellable = [pair for pair in pairs if UNKNOWN not in pair.target]
        items = evaluation_items(examples)
        sources = [numbers.source(item) for item in items]
        references = [item.targets for item in items]
        return cls(spellable, len(pairs) - len(spellable), sources, references)


@dataclass(frozen=True)
class Run:
    """One run: everything that decides its outcome. It can travel to another process."""

    folder: Path
    description: Description
    train: list[Example]
    dev: list[Example]
    device: str = "auto"
    start: Start | None = None
    """The weights to begin with; none for random ones."""
    resume: bool = False
    overwrite: bool = False
    call: dict[str, Any] | None = None
    """What to keep in ``RESUME`` until training is over."""

    @property
    def examples(self) -> int:
        """How many real pairs there are to learn from."""
        return sum(len(example.targets) for example in self.train)

    @cached_property
    def pairs(self) -> list[Encoded]:
        """The training pairs, numbered, and hallucinated ones if there shall be some."""
        config = self.description.training
        examples = [*self.train, *hallucinate(self.train, config.hallucinate, config.seed)]
        return [self._indexer.pair(pair) for pair in training_pairs(examples)]

    @cached_property
    def development(self) -> Development:
        """The development set, numbered."""
        return Development.of(self.dev, self._indexer)

    @property
    def _indexer(self) -> Indexer:
        one = self.description
        return indexer(one.model, one.vocabulary, one.format)


class Reporter:
    """Is told how training goes, and says nothing; the base of those that do."""

    def note(self, text: str) -> None:
        """Is told something that the user should know."""

    def begin(self, progress: Progress, run: Run) -> None:
        """Is told that training starts, or goes on after ``progress``, which is kept up to date."""

    def advance(self, pairs: int, total: int) -> None:
        """Is told that so many of an epoch's pairs are done."""

    def epoch(self, row: dict[str, Any]) -> None:
        """Is told that an epoch is complete and saved; ``row`` is a line of ``metrics.jsonl``."""

    def end(self) -> None:
        """Is told that training is over, for better or worse."""


def open_folder(run: Run, note: Note = lambda _: None) -> Run:
    """Create, overwrite or resume the folder of a run, which is locked, and describe the run in it.

    Returns:
        The run with the number of threads that it has, or had before.

    Raises:
        HardalignError: If the folder is taken, or cannot be written.
    """
    folder, description = run.folder, run.description
    with explained(folder, "written"):
        make_folder(folder)
        remove_fragments(folder)
        taken = {path.name for path in folder.iterdir()} - {LOCK, HOLDER, RESUME}
        if taken and run.resume:
            description = _resumed(folder, description, taken, note)
        elif taken and run.overwrite:
            remove_model(folder)
        elif taken:
            raise HardalignError(
                f"{folder}: is not empty; go on with --resume, replace it with --overwrite, or "
                "choose another folder"
            )
    threads = description.training.threads or default_threads()
    description = replace(description, training=replace(description.training, threads=threads))
    for name, content in description_files(description).items():
        path = folder / name
        if not path.exists() or read_bytes(path) != content:
            write_bytes(path, content)
    if run.call is not None:
        write_json(folder / RESUME, run.call)
    return replace(run, description=description)


def remove_model(folder: Path) -> None:
    """Remove a model and its members; files that are not ours stay.

    A link in place of a member is removed itself: what it points to belongs to somebody else.

    Raises:
        BusyError: If another process is training a member. Nothing is removed then.
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


def default_threads() -> int:
    """Returns 2, as more gain nothing, where waiting threads do not spin for long; otherwise 1.

    Threads that spin starve beside a busy process: 2 of them then train at a tenth of the speed of
    one. The command line sees to it; a program that imports hardalign decides for itself.
    """
    patient = os.environ.get("OMP_WAIT_POLICY", "").lower() == "passive"
    if patient or "GOMP_SPINCOUNT" in os.environ:
        return min(2, torch.get_num_threads())
    return 1


def _resumed(folder: Path, now: Description, taken: set[str], note: Note) -> Description:
    """Returns the description of a run that goes on; refuses to go on with another run."""
    if CONFIG not in taken:
        _check_beginning(folder, now, taken)
        return now
    before = read_description(folder)
    threads = now.training.threads or before.training.threads
    if CHECKPOINT in taken and threads != before.training.threads:
        note(
            f"{folder}: was trained with {before.training.threads or 'other'} threads until now; "
            "with another number the weights can differ in their last digits from those of a run "
            "that was not interrupted"
        )
    # What may change: threads, more epochs by the paper's recipe, members, the name of the base.
    training = replace(now.training, threads=threads)
    now = replace(now, training=training, temperature=before.temperature)
    same = replace(before.training, threads=threads)
    if training.recipe == "paper":
        same = replace(same, epochs=training.epochs)
    before = replace(before, training=same)
    if min(before.members, now.members) > 1:
        before = replace(before, members=now.members)
    if before.start and now.start and _checksum(before.start) == _checksum(now.start):
        before = replace(before, start=now.start)
    for one in fields(before):
        old, new = getattr(before, one.name), getattr(now, one.name)
        if old != new:
            raise HardalignError(
                f"{folder}: cannot resume, its {one.name} was another: {_difference(old, new)}; "
                "give the same options, or start anew with --overwrite"
            )
    return now


def _check_beginning(folder: Path, description: Description, taken: set[str]) -> None:
    """Refuse files of a model without settings, unless a run was killed while it began."""
    begun = description_files(description)
    for name in sorted(taken & set(FILES)):
        if name not in begun or read_bytes(folder / name) != begun[name]:
            raise HardalignError(
                f"{folder}: cannot resume: it has a {name} but no {CONFIG} that says of which run; "
                "choose another folder, or start anew with --overwrite"
            )


def _checksum(start: str) -> str:
    """Returns the checksum in ``Start.name``: a model that was moved or renamed is the same."""
    return start.rpartition("sha256:")[2]


def _difference(old: Any, new: Any) -> str:
    """Returns the first setting that differs, as it was and as it is."""
    if not hasattr(old, "to_dict") or not hasattr(new, "to_dict"):
        return f"{old!r:.200}, now {new!r:.200}"
    before, now = old.to_dict(), new.to_dict()
    name = next(name for name in {**before, **now} if before.get(name) != now.get(name))
    return f"{name} {before.get(name)!r:.200}, now {now.get(name)!r:.200}"
