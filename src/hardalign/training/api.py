"""From data to a trained model: what ``hardalign train`` does, for Python programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from hardalign.config import CLIPS, ModelConfig, TrainingConfig, find_size
from hardalign.data.example import Example
from hardalign.data.formats import FORMATS, Format
from hardalign.data.reading import examples_of, read_examples
from hardalign.data.text import shorten
from hardalign.data.vocabulary import Vocabulary
from hardalign.errors import HardalignError, InputError
from hardalign.files import sha256
from hardalign.predictor import Predictor, load
from hardalign.systems import find_system
from hardalign.training.loop import Job, Machine, Reporter, Silent
from hardalign.training.loop import train as run
from hardalign.training.storage import Description, claim_folder

Data = str | Path | Iterable[Example] | Iterable[Sequence[str]]
"""A file, examples (of ``load_corpus``), or rows such as ``("cat", "K AE T")``."""


@dataclass(frozen=True)
class TrainingData:
    """The examples of a run, how they were read, and a record of where they came from."""

    train: list[Example]
    dev: list[Example]
    format: Format
    origin: dict[str, Any]

    def check(self, vocabulary: Vocabulary) -> None:
        """Refuse a development set that was plainly written in another format.

        Raises:
            InputError: If most source symbols of the development set never occur in training.
        """
        unknown = {
            item.line: vocabulary.source.unknown(item.source, item.tags) for item in self.dev
        }
        total = sum(len(item.source) + len(item.tags) for item in self.dev)
        if 2 * sum(map(len, unknown.values())) <= total:
            return
        line, symbols = next((line, symbols) for line, symbols in unknown.items() if symbols)
        raise InputError(
            f"most source symbols never occur in the training data, first {shorten(symbols[0])}; "
            "is this file in the same format?",
            file=self.origin["dev"]["file"] if "dev" in self.origin else self.origin["corpus"],
            line=line,
        )


def prepare(
    data: TrainingData,
    out: Path,
    model: ModelConfig,
    training: TrainingConfig,
    *,
    resume: bool = False,
    overwrite: bool = False,
) -> Job:
    """A run that is ready to start, or to go on, in a folder that is now its own.

    Raises:
        HardalignError: If the folder is taken, or the two parts of the data do not fit together.
    """
    vocabulary = Vocabulary.of(data.train)
    data.check(vocabulary)
    description = Description(model, training, data.format, vocabulary, data.origin)
    claim_folder(out, description, resume=resume, overwrite=overwrite)
    return Job.of(out, description, data.train, data.dev)


def train(
    train: Data,
    dev: Data,
    out: str | Path,
    *,
    format: str | Format = "pairs",  # noqa: A002 - the flag's name
    system: str = "hard",
    size: str | ModelConfig = "small",
    seed: int = 0,
    epochs: int = 50,
    batch_size: int = 20,
    device: str = "auto",
    resume: bool = False,
    overwrite: bool = False,
    reporter: Reporter | None = None,
) -> Predictor:
    """Train a model by the recipe of the paper, and load it.

    >>> rows = [("cat", "K AE T"), ("cot", "K AA T"), ...]
    >>> g2p = hardalign.train(rows, dev, "runs/g2p", format="lexicon")
    >>> g2p("coat").text
    'K OW T'

    After every epoch all is saved: an interrupted run goes on with ``resume=True``.

    Args:
        train: Training data: a file, rows of strings, or a corpus's examples.
        dev: Development data, likewise, which decides when to stop and which epoch to keep.
        out: Folder for the model.
        format: How files and rows spell an example, a name of ``--format`` or a ``Format``.
        system: What to train; ``hardalign info`` lists the systems.
        size: ``"small"``, ``"large"``, or sizes of your own (whose ``system`` does not count).
        seed: Weights, order and dropout follow from it.
        epochs: Most passes over the data; 0 writes the untrained model.
        batch_size: Pairs per step.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.
        resume: Go on with the run in the folder after its last complete epoch.
        overwrite: Replace the model in the folder.
        reporter: Is told how training goes; nobody is, by default.

    Raises:
        HardalignError: If the data, a name or the folder is not as it must be.
    """
    find_system(system)  # a misspelled name should not wait for the data
    if isinstance(format, str) and format not in FORMATS:
        raise HardalignError(f"no format is called {format!r}; there are {', '.join(FORMATS)}")
    layout = FORMATS[format] if isinstance(format, str) else format
    sizes, clip = (find_size(size), CLIPS[size]) if isinstance(size, str) else (size, None)
    parts = {name: _examples(data, layout, name) for name, data in (("train", train), ("dev", dev))}
    origin = {
        name: origin_of(data if isinstance(data, (str, Path)) else "memory", parts[name])
        for name, data in (("train", train), ("dev", dev))
    }
    job = prepare(
        TrainingData(parts["train"], parts["dev"], layout, origin),
        Path(out),
        replace(sizes, system=system),
        TrainingConfig(epochs, batch_size, clip=clip, seed=seed),
        resume=resume,
        overwrite=overwrite,
    )
    run(job, Machine(device), reporter or Silent())
    return load(out)


def origin_of(file: str | Path, examples: list[Example]) -> dict[str, Any]:
    """The record of a part of the data: its file, its size and a checksum of what was read."""
    checksum = sha256(repr(examples).encode())
    return {"file": str(file), "examples": len(examples), "sha256": checksum}


def _examples(data: Data, layout: Format, name: str) -> list[Example]:
    if isinstance(data, (str, Path)):
        return list(read_examples(data, layout, "training"))
    rows = list(data)
    if not rows:
        raise HardalignError(f"there are no {name} rows")
    examples = [row for row in rows if isinstance(row, Example)]
    if len(examples) == len(rows):
        return examples
    return list(examples_of(cast(list[Sequence[str]], rows), layout, name=f"{name} rows"))
