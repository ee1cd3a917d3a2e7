"""A training run: its settings and data, folder, checkpoint and progress.

The checkpoint is one file, replaced atomically after every epoch, so that weights, optimizer and
progress never disagree. Random states need no saving: each epoch is seeded from the seed and the
epoch's number.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

import torch
from numpy.typing import NDArray
from torch import optim

from hardalign.data.formats import Example, evaluation_items, training_pairs
from hardalign.data.inflection import hallucinate
from hardalign.data.text import Symbols
from hardalign.data.vocabulary import UNKNOWN, Encoded, Indexer
from hardalign.errors import HardalignError
from hardalign.files import (
    HOLDER,
    LOCK,
    build_record,
    locked,
    make_folder,
    os_errors_named,
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
    find_model,
    load_folder,
    read_description,
    read_tensors,
    write_description,
    write_tensors,
)
from hardalign.systems.model import indexer
from hardalign.systems.network import Network
from hardalign.training.finetune import Start

RESUME = "resume.json"
"""Where the data of an unfinished run is, for ``train --resume DIR``."""
FILES = (CHECKPOINT, WEIGHTS, METRICS, RESUME, VOCABULARY, KNOWN_FORMS, CONFIG)
_MOMENTS = ("exp_avg", "exp_avg_sq", "step")
"""Adam's state per parameter."""

Note = Callable[[str], None]


@dataclass(frozen=True)
class Run:
    """Everything that determines the outcome of a run; can be sent to another process."""

    folder: Path
    description: Description
    train: list[Example]
    dev: list[Example]
    device: str = "auto"
    start: Start | None = None
    """The model to fine-tune; None to train from scratch."""
    resume: bool = False
    overwrite: bool = False
    call: dict[str, Any] | None = None
    """The content of ``RESUME``; None for a member of an ensemble."""

    @property
    def examples(self) -> int:
        """The number of real training pairs."""
        return sum(len(example.targets) for example in self.train)

    @cached_property
    def pairs(self) -> list[Encoded]:
        """The training pairs, including hallucinated ones."""
        config = self.description.training
        examples = [*self.train, *hallucinate(self.train, config.hallucinate, config.seed)]
        return [self._indexer.pair(pair) for pair in training_pairs(examples)]

    @cached_property
    def dev_pairs(self) -> list[Encoded]:
        """The development pairs whose targets the vocabulary can spell."""
        pairs = [self._indexer.pair(pair) for pair in training_pairs(self.dev)]
        return [pair for pair in pairs if UNKNOWN not in pair.target]

    @cached_property
    def dev_words(self) -> list[tuple[Encoded, tuple[Symbols, ...]]]:
        """The distinct development sources with their references."""
        items = evaluation_items(self.dev)
        return [(self._indexer.source(item), item.targets) for item in items]

    @property
    def _indexer(self) -> Indexer:
        one = self.description
        return indexer(one.model, one.vocabulary, one.format)


class Row(TypedDict):
    """A line of ``metrics.jsonl``: the figures of an epoch, None without development data."""

    epoch: int
    loss: float
    dev_log_likelihood: float | None
    dev_acc: float | None
    dev_mld: float | None
    learning_rate: float
    words_per_second: float
    seconds: float
    best: bool


@dataclass
class Progress:
    """The progress of training, with the best development scores so far."""

    learning_rate: float
    epoch: int = 0
    """Epochs completed."""
    best_log_likelihood: float | None = None
    stale: int = 0
    """Epochs without improvement on it since the rate was last halved."""
    best_epoch: int = 0
    """The epoch whose weights are kept; 0 before the first."""
    best_acc: float = -1.0
    best_mld: float = 0.0
    history: list[Row] = field(default_factory=list)


class Reporter:
    """Base class for training callbacks; does nothing."""

    def note(self, text: str) -> None:
        """A message for the user."""

    def begin(self, progress: Progress, run: Run) -> None:
        """Training starts, or resumes after ``progress``, which is updated in place."""

    def advance(self, pairs: int, total: int) -> None:
        """So far ``pairs`` of the ``total`` pairs of the epoch are done."""

    def epoch(self, row: Row) -> None:
        """An epoch is complete and saved; ``row`` is a line of ``metrics.jsonl``."""

    def end(self) -> None:
        """Training has ended, successfully or not."""


def restore_checkpoint(folder: Path, model: Network, optimizer: optim.Optimizer) -> Progress | None:
    """Restore model and optimizer from the checkpoint in a folder; None if there is none."""
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    foreign = HardalignError(
        f"{path}: is not the checkpoint of this run, so it cannot be resumed; "
        "bring the right file back, or start anew with --overwrite"
    )
    saved, notes = read_tensors(path)
    try:
        progress = build_record(Progress, notes, "it")
    except HardalignError as error:
        raise foreign from error
    shapes = {f"model.{name}": one.shape for name, one in model.state_dict().items()}
    for number, parameter in enumerate(model.parameters()):
        for moment in _MOMENTS:
            shape = torch.Size() if moment == "step" else parameter.shape
            shapes[f"optimizer.{number}.{moment}"] = shape
    found = {name: array.shape for name, array in saved.items()}
    if len(progress.history) != progress.epoch or found != shapes:
        raise foreign
    tensors = {name: torch.from_numpy(array) for name, array in saved.items()}
    model.load_state_dict({name: tensors[f"model.{name}"] for name in model.state_dict()})
    moments = {
        number: {moment: tensors[f"optimizer.{number}.{moment}"] for moment in _MOMENTS}
        for number, _ in enumerate(model.parameters())
    }
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    return progress


def save_checkpoint(
    folder: Path, model: Network, optimizer: optim.Optimizer, progress: Progress
) -> None:
    """Commit an epoch: write the metrics first, then the checkpoint, which decides."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in progress.history)
    write_bytes(folder / METRICS, "".join(lines).encode())
    tensors = {f"model.{name}": array for name, array in arrays(model).items()}
    for number, moments in optimizer.state_dict()["state"].items():
        for moment, tensor in moments.items():
            tensors[f"optimizer.{number}.{moment}"] = tensor.detach().cpu().numpy()
    write_tensors(folder / CHECKPOINT, tensors, asdict(progress))


def torch_module(model: str | Path) -> Network:
    """Return a trained network as a ``torch.nn.Module``, in evaluation mode.

    Args:
        model: The folder of a single model, such as a member of an ensemble, or a bundled model.
    """
    tensors, description = load_folder(find_model(model))
    network = Network(description.model, description.vocabulary)
    weights = {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}
    network.load_state_dict(network.state_dict() | weights)
    return network.eval()


def arrays(model: Network) -> dict[str, NDArray[Any]]:
    """Return a model's tensors by name; on a CPU they share its memory."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}


def open_folder(run: Run, note: Note = lambda _: None) -> Run:
    """Create, overwrite or resume the locked folder of a run, and write its description.

    Returns the run with its number of threads: as given, as before, or the default.
    """
    folder, description = run.folder, run.description
    with os_errors_named(folder, "written"):
        make_folder(folder)
        remove_fragments(folder)
        existing = {path.name for path in folder.iterdir()} - {LOCK, HOLDER, RESUME}
        if existing and run.resume:
            description = _resumed(folder, description, existing, note)
        elif existing and run.overwrite:
            remove_model(folder)
        elif existing:
            raise HardalignError(
                f"{folder}: is not empty; go on with --resume, replace it with --overwrite, or "
                "choose another folder"
            )
    threads = description.training.threads or default_threads()
    description = replace(description, training=replace(description.training, threads=threads))
    write_description(folder, description)
    if run.call is not None:
        write_json(folder / RESUME, run.call)
    return replace(run, description=description)


def remove_model(folder: Path) -> None:
    """Remove a model and its members; other files stay, and links are removed, not followed.

    Nothing is removed if another process is training a member.
    """
    parts = list(folder.glob(MEMBER.format("*")))
    links = [part for part in parts if part.is_symlink()]
    members = [part for part in parts if part.is_dir() and part not in links]
    with ExitStack() as locks:
        for member in members:
            locks.enter_context(locked(member, f"overwrite {folder}"))
        for member in members:
            remove_model(member)
            remove_fragments(member)
        for path in (*links, *(folder / name for name in FILES)):
            path.unlink(missing_ok=True)
    for member in members:
        (member / LOCK).unlink(missing_ok=True)
        with suppress(OSError):  # it has other files
            member.rmdir()


def default_threads() -> int:
    """Return 2 if waiting threads do not spin for long, otherwise 1; more than 2 gain nothing.

    Beside a busy process, two spinning threads train at a tenth of the speed of one. The command
    line limits the spin; a program that imports hardalign decides for itself.
    """
    patient = os.environ.get("OMP_WAIT_POLICY", "").lower() == "passive"
    if patient or "GOMP_SPINCOUNT" in os.environ:
        return min(2, torch.get_num_threads())
    return 1


def _resumed(folder: Path, now: Description, existing: set[str], note: Note) -> Description:
    """Return the description of a resumed run; refuse to resume a different run."""
    if CONFIG not in existing:  # a run killed at its start, or somebody else's files
        begun = description_files(now)
        for name in sorted(existing & set(FILES)):
            if name not in begun or read_bytes(folder / name) != begun[name]:
                raise HardalignError(
                    f"{folder}: cannot resume: {name} found without {CONFIG}; choose another "
                    "folder, or start anew with --overwrite"
                )
        return now
    before = read_description(folder)
    threads = now.training.threads or before.training.threads
    if CHECKPOINT in existing and threads != before.training.threads:
        note(
            f"{folder}: was trained with {before.training.threads or 'other'} threads until now; "
            "with a different number the weights can differ in the last digits from those of an "
            "uninterrupted run"
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
    # Its checksum follows the name: a model that was moved or renamed is the same.
    starts = {(one.start or "").rpartition("sha256:")[2] for one in (before, now)}
    if len(starts) == 1:
        before = replace(before, start=now.start)
    for one in fields(before):
        old, new = getattr(before, one.name), getattr(now, one.name)
        if old != new:
            raise HardalignError(
                f"{folder}: cannot resume with different {one.name}: {_difference(old, new)}; "
                "give the same options, or start anew with --overwrite"
            )
    return now


def _difference(old: Any, new: Any) -> str:
    """Return the first setting that differs, with its old and new value."""
    name = ""
    if hasattr(old, "to_dict") and hasattr(new, "to_dict"):
        before, now = old.to_dict(), new.to_dict()
        name = next(name for name in {**before, **now} if before.get(name) != now.get(name))
        old, new = before.get(name), now.get(name)
    return f"{name} {old!r:.200}, now {new!r:.200}".lstrip()
