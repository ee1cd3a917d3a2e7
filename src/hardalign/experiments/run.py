"""A run: what to train, its folder and its result. Plain data, no torch.

DIR/<name of the run>/
    run.json      what to do: corpus (or files), system, size, seed, overrides
    model/        the model folder, as `hardalign train` writes it
    log.txt       what the run printed
    result.json   the figures; written last, so a run that has it is complete
    failure.json  why the last attempt failed; removed upon success
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hardalign.data.formats import FORMATS, Format, changed
from hardalign.errors import HardalignError
from hardalign.files import (
    check_regular,
    make_folder,
    os_errors_named,
    parse_json,
    read_bytes,
    read_json,
    sha256,
    write_json,
)
from hardalign.model_folder import METRICS, MODEL, RUN

LOG, RESULT, FAILURE = "log.txt", "result.json", "failure.json"

T = TypeVar("T")


@dataclass(frozen=True)
class DataFiles:
    """Three data files of one format, identified by their contents."""

    train: str = field(compare=False)
    dev: str = field(compare=False)
    test: str = field(compare=False)
    format: str
    sha256: str
    settings: dict[str, Any] = field(default_factory=dict, hash=False)
    """What differs from the named format: columns, separators, …"""

    @classmethod
    def of(cls, train: Path, dev: Path, test: Path, format_: str, **settings: Any) -> DataFiles:
        """Describe existing files; check that they are readable, and the format's settings."""
        paths = [path.absolute() for path in (train, dev, test)]
        checksum = sha256("".join(map(_checksum, paths)).encode())
        changed(FORMATS[format_], settings)  # raises if they are wrong
        return cls(str(paths[0]), str(paths[1]), str(paths[2]), format_, checksum, settings)

    @property
    def layout(self) -> Format:
        """The format of the files, with the settings applied."""
        return changed(FORMATS[self.format], self.settings)


def _checksum(path: Path) -> str:
    check_regular(path)  # a pipe could be read only once
    try:
        with os_errors_named(path, "read"):
            return sha256(path.read_bytes())
    except ValueError as error:  # a name that no file system allows
        raise HardalignError(f"{path}: {error}") from error


@dataclass(frozen=True)
class Run:
    """One training run: everything that decides its outcome."""

    corpus: str
    """The name of a corpus, or that of the ``files``."""
    system: str
    size: str = "small"
    seed: int = 0
    overrides: dict[str, Any] = field(default_factory=dict, hash=False)
    """Settings that differ from those of the size and the recipe."""
    files: DataFiles | None = None

    @property
    def name(self) -> str:
        """The name of its folder; different runs have different names."""
        corpus = self.corpus.replace("/", "-").replace(":", "-")
        name = f"{corpus}.{self.system}.{self.size}.{self.seed}"
        identity: Any = self.overrides
        if self.files is not None:
            identity = [self.overrides, self.files.format, self.files.sha256]
            identity += [self.files.settings] if self.files.settings else []
        canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        return f"{name}.{sha256(canonical.encode())[:8]}" if identity else name


@dataclass(frozen=True)
class Result:
    """The result of a complete run on the test part of its data."""

    run: Run
    metrics: dict[str, float]
    """n, acc, wer, per, per_corpus, mfs and mld, as ``hardalign evaluate --json`` gives them."""
    parameters: int
    epochs: int
    """Epochs trained, summed over the members of an ensemble."""
    seconds: float
    """Time spent on those epochs."""
    sources: int
    """Evaluation items: distinct sources of the test part."""
    correct: list[int]
    """1 or 0 for each item, in order."""
    sources_sha256: str
    """Of the evaluated sources: runs are compared item by item only if it is equal."""
    version: str
    """Of hardalign."""


@dataclass(frozen=True)
class Failure:
    """Why the last attempt of a run failed."""

    error: str
    """In one line."""
    traceback: str | None = None
    attempt: int = 1
    refused: bool = False
    """Whether the data or the settings are at fault, so that a retry would fail, too."""


def prepare(folder: Path, run: Run) -> bool:
    """Create the folder of a run inside a grid's folder; return whether the run is incomplete."""
    path, values = folder / run.name / RUN, asdict(run)
    make_folder(path.parent)
    if path.exists() and read_run(path.parent) != run:
        raise HardalignError(f"{path}: describes another run; choose another folder")
    if not path.exists() or read_json(path) != values:  # its data files may have moved
        write_json(path, values)
    return not (path.parent / RESULT).exists()


def read_run(folder: Path) -> Run:
    """Return the run that a folder is for."""
    return _read(folder / RUN, Run)


def read_result(folder: Path) -> Result:
    """Return the result in a run's folder."""
    path = folder / RESULT
    result = _read(path, Result)
    if "acc" not in result.metrics or len(result.correct) != result.sources:
        raise HardalignError(f"{path}: is damaged; remove the file to run this again")
    return result


def read_results(folder: Path) -> list[Result]:
    """Return the results of the complete runs in a grid's folder, sorted by run name."""
    return [read_result(path.parent) for path in _files(folder, RESULT)]


def read_failures(folder: Path) -> dict[str, Failure]:
    """Return the failures in a grid's folder by run name."""
    return {path.parent.name: _read(path, Failure) for path in _files(folder, FAILURE)}


def write_failure(
    folder: Path, error: str, traceback: str | None = None, *, refused: bool = False
) -> None:
    """Record another failed attempt in a run's folder."""
    path = folder / FAILURE
    attempt = 1 + (_read(path, Failure).attempt if path.exists() else 0)
    write_json(path, asdict(Failure(error, traceback, attempt, refused)))


def epochs_of(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of every ``metrics.jsonl`` in a run's folder (one for each member)."""
    epochs = []
    for path in sorted((folder / MODEL).rglob(METRICS)):
        rows = [parse_json(line, path) for line in read_bytes(path).splitlines()]
        if not all(isinstance(row, dict) and "seconds" in row for row in rows):
            raise HardalignError(f"{path}: is damaged; remove the folder to run this again")
        epochs += rows
    return epochs


def _files(folder: Path, name: str) -> Iterator[Path]:
    if not folder.is_dir():
        raise HardalignError(f"{folder}: no such folder; `hardalign reproduce` makes one")
    yield from sorted(folder.glob(f"*/{name}"))


def _read(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.convert(read_json(path), kind)
    except msgspec.ValidationError as error:
        raise HardalignError(
            f"{path}: {error}; another version of hardalign may have written it; remove the file "
            "to run this again"
        ) from error
