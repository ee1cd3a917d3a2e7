"""What ``hardalign train`` trains on: two files, or a corpus by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hardalign.cli.console import note_skipped
from hardalign.cli.fetching import load
from hardalign.cli.options import FileOptions
from hardalign.data.formats import FORMATS
from hardalign.data.reading import Skipped, read_examples
from hardalign.errors import HardalignError
from hardalign.training.api import TrainingData, origin_of


def read_data(
    train: str | None,
    dev: str | None,
    corpus: str | None,
    files: FileOptions,
    allow_empty: bool,
    words: int | None,
    stress: bool,
    seed: int,
    data_dir: Path | None,
) -> TrainingData:
    """Read all that a run needs, before anything is written."""
    if corpus is not None:
        if train is not None or dev is not None:
            raise HardalignError("give either files or --corpus, not both")
        origin: dict[str, Any] = {"corpus": corpus, "seed": seed, "stress": stress, "size": words}
        loaded = load(corpus, seed=seed, stress=stress, size=words, data_dir=data_dir)
        return TrainingData(loaded.train, loaded.dev, loaded.format, origin)
    if train is None or dev is None:
        raise HardalignError(
            "give a training file and --dev FILE, or --corpus NAME; see hardalign train --help"
        )
    if words is not None or not stress:
        raise HardalignError("--words and --strip-stress go with --corpus; edit your file instead")
    if data_dir is not None:
        raise HardalignError("--data-dir goes with --corpus; name your files with their folder")
    format_ = files.resolve(FORMATS["pairs"])
    origin, parts = {}, []
    for name, file in (("train", train), ("dev", dev)):
        skipped = Skipped()
        reading = read_examples(file, format_, "training", allow_empty=allow_empty, skipped=skipped)
        part = list(reading)
        note_skipped(file, skipped, "passed over")
        origin[name] = origin_of(file, part)
        parts.append(part)
    return TrainingData(parts[0], parts[1], format_, origin)
