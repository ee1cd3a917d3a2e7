"""What ``hardalign train`` trains on: two files, or a corpus by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hardalign.cli.console import note_skipped
from hardalign.cli.options import FileOptions
from hardalign.data.corpora import load_corpus
from hardalign.data.example import Example
from hardalign.data.formats import FORMATS, Format
from hardalign.data.reading import Skipped, read_examples
from hardalign.data.text import shorten
from hardalign.data.vocabulary import Vocabulary
from hardalign.errors import HardalignError, InputError
from hardalign.files import sha256


@dataclass(frozen=True)
class TrainingData:
    """The examples of a run, how they were read, and a record of where they came from."""

    train: list[Example]
    dev: list[Example]
    format: Format
    origin: dict[str, Any]


def read_data(
    train: str | None,
    dev: str | None,
    corpus: str | None,
    files: FileOptions,
    allow_empty: bool,
    words: int | None,
    stress: bool,
    seed: int,
) -> TrainingData:
    """Read all that a run needs, before anything is written."""
    if corpus is not None:
        if train is not None or dev is not None:
            raise HardalignError("give either files or --corpus, not both")
        origin: dict[str, Any] = {"corpus": corpus, "seed": seed, "stress": stress, "size": words}
        loaded = load_corpus(corpus, seed=seed, stress=stress, size=words)
        return TrainingData(loaded.train, loaded.dev, loaded.format, origin)
    if train is None or dev is None:
        raise HardalignError(
            "give a training file and --dev FILE, or --corpus NAME; see hardalign train --help"
        )
    if words is not None or not stress:
        raise HardalignError("--words and --strip-stress go with --corpus; edit your file instead")
    format_ = files.resolve(FORMATS["pairs"])
    origin, parts = {}, []
    for name, file in (("train", train), ("dev", dev)):
        skipped = Skipped()
        reading = read_examples(file, format_, "training", allow_empty=allow_empty, skipped=skipped)
        part = list(reading)
        note_skipped(file, skipped, "passed over")
        origin[name] = {"file": file, "examples": len(part), "sha256": sha256(repr(part).encode())}
        parts.append(part)
    return TrainingData(parts[0], parts[1], format_, origin)


def check_development(data: TrainingData, vocabulary: Vocabulary) -> None:
    """Refuse a development set that was plainly written in another format.

    Raises:
        InputError: If most source symbols of the development set never occur in training.
    """
    unknown = {item.line: vocabulary.source.unknown(item.source, item.tags) for item in data.dev}
    total = sum(len(item.source) + len(item.tags) for item in data.dev)
    if 2 * sum(map(len, unknown.values())) <= total:
        return
    line, symbols = next((line, symbols) for line, symbols in unknown.items() if symbols)
    raise InputError(
        f"most source symbols never occur in the training data, first {shorten(symbols[0])}; "
        "is this file in the same format?",
        file=data.origin["dev"]["file"],
        line=line,
    )
