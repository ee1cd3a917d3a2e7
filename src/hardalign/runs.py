"""A run, its folder, and what it leaves there. Plain data: no torch, no engine.

DIR/<name of the run>/
    run.json      what to do: corpus (or files), system, size, seed, overrides
    model/        the model folder, as `hardalign train` writes it
    log.txt       what the run printed
    result.json   the figures; written last, so a run that has it is complete
    failure.json  why it failed, if it did; removed upon success
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hardalign.data.formats import FORMATS, Format, changed
from hardalign.errors import HardalignError
from hardalign.files import (
    JSON_LIMIT,
    build_record,
    check_regular,
    parse_json,
    read_bytes,
    read_json,
    sha256,
    write_json,
)
from hardalign.model_folder import METRICS, MODEL, RUN

LOG = "log.txt"
RESULT, FAILURE = "result.json", "failure.json"

_EPOCH = {"dev_log_likelihood", "seconds"}
"""What every row of ``metrics.jsonl`` has, among other figures."""

T = TypeVar("T", "DataFiles", "Run", "Result", "Failure")


@dataclass(frozen=True)
class DataFiles:
    """Data of one's own: three files of one format."""

    train: str = field(compare=False)
    dev: str = field(compare=False)
    test: str = field(compare=False)
    format: str
    sha256: str
    """Of the contents: a file that moves is the same data, one that changes is not."""
    settings: dict[str, Any] = field(default_factory=dict, hash=False)
    """What of the format is otherwise, by the names of its settings; columns are one string."""

    @classmethod
    def of(cls, train: Path, dev: Path, test: Path, format_: str, **settings: Any) -> DataFiles:
        """Describes files that are there.

        Raises:
            HardalignError: If one of them cannot be read, or there cannot be such a format.
        """
        paths = [path.absolute() for path in (train, dev, test)]
        try:
            checksum = sha256("".join(map(_checksum, paths)).encode())
        except OSError as error:
            raise HardalignError(f"{error.filename}: cannot be read: {error.strerror}") from error
        except ValueError as error:  # no system has such names
            raise HardalignError(f"{paths[0]}, {paths[1]}, {paths[2]}: {error}") from error
        changed(FORMATS[format_], settings)  # which refuses what cannot be
        return cls(str(paths[0]), str(paths[1]), str(paths[2]), format_, checksum, settings)

    @property
    def layout(self) -> Format:
        """Returns how the files are read."""
        return changed(FORMATS[self.format], self.settings)


def _checksum(path: Path) -> str:
    check_regular(path)  # every run reads it again
    return sha256(path.read_bytes())


@dataclass(frozen=True)
class Run:
    """One training run: everything that decides its outcome."""

    corpus: str
    """The name of a corpus, or that of the ``files``."""
    system: str
    size: str = "small"
    seed: int = 0
    overrides: dict[str, Any] = field(default_factory=dict, hash=False)
    """Settings that are not those of the size, by name; ``settings.py`` says which there are."""
    files: DataFiles | None = None

    @property
    def name(self) -> str:
        """The name of its folder: equal runs have equal names, different ones different names."""
        corpus = self.corpus.replace("/", "-").replace(":", "-")
        name = f"{corpus}.{self.system}.{self.size}.{self.seed}"
        identity: Any = self.overrides
        if self.files is not None:
            identity = [self.overrides, self.files.format, self.files.sha256]
            identity += [self.files.settings] if self.files.settings else []
        canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        return f"{name}.{sha256(canonical.encode())[:8]}" if identity else name

    def to_dict(self) -> dict[str, Any]:
        """Returns the content of ``run.json``; ``files`` only where there are some."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Result:
    """What a complete run achieved on the test part of its data."""

    run: Run
    metrics: dict[str, float]
    """n, acc, wer, per, per_corpus, mfs and mld, as ``hardalign evaluate --json`` gives them."""
    parameters: int
    epochs: int
    """Epochs trained, of which ``model/`` holds the best; all members' of an ensemble."""
    seconds: float
    """Time spent on those epochs, whoever's attempt they were."""
    sources: int
    """Evaluation items: distinct sources of the test part."""
    correct: list[int]
    """1 or 0 for each item, in order."""
    sources_sha256: str
    """Of the evaluated sources: runs compare item by item only where it is equal."""
    version: str
    """The hardalign that evaluated."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the content of ``result.json``."""
        return {**asdict(self), "run": self.run.to_dict()}


@dataclass(frozen=True)
class Failure:
    """Why a run is not complete."""

    run: Run
    error: str
    """In one line."""
    traceback: str | None = None
    """None where the message says it all, or where the process was killed."""
    attempt: int = 1
    """How many times it has failed."""


def read_results(folder: Path) -> list[Result]:
    """Returns the results of the complete runs of a grid's folder, by name.

    Raises:
        HardalignError: If there is no such folder, or a file in it is damaged.
    """
    return [read_result(path.parent) for path in _files(folder, RESULT)]


def read_failures(folder: Path) -> list[Failure]:
    """Returns why runs of a grid's folder failed when they were last tried, by name.

    Raises:
        HardalignError: If there is no such folder, or a file in it is damaged.
    """
    return [
        _build(path, Failure, {**_object(path), "run": read_run(path.parent)})
        for path in _files(folder, FAILURE)
    ]


def read_result(folder: Path) -> Result:
    """Returns the result in a run's folder."""
    path = folder / RESULT
    values = _object(path)
    result = _build(path, Result, {**values, "run": _run(path, values.get("run"))})
    if "acc" not in result.metrics or len(result.correct) not in (0, result.sources):
        raise HardalignError(
            f"{path}: its figures do not fit each other; remove the file to run this again"
        )
    return result


def read_run(folder: Path) -> Run:
    """Returns what a run's folder is for."""
    return _run(folder / RUN, _object(folder / RUN))


def write_run(folder: Path, run: Run) -> None:
    """Write ``run.json``, or make sure that the one that is there says the same.

    Raises:
        HardalignError: If the folder belongs to another run.
    """
    path = folder / RUN
    if path.exists() and read_run(folder) != run:
        raise HardalignError(f"{path}: describes another run; choose another folder")
    if not path.exists() or read_json(path) != run.to_dict():  # its files may have moved
        write_json(path, run.to_dict())


def write_failure(folder: Path, error: str, traceback: str | None = None) -> None:
    """Record in a run's folder that one more attempt failed."""
    path = folder / FAILURE
    attempt = 1 + int(_object(path).get("attempt", 0) if path.exists() else 0)
    write_json(path, {"error": error, "traceback": traceback, "attempt": attempt})


def epochs_of(folder: Path) -> list[dict[str, Any]]:
    """Returns the rows of every ``metrics.jsonl`` in a run's folder; none before the first epoch.

    An ensemble has one for each member, and a model that was refitted that of its first training.
    """
    model, epochs = folder / MODEL, []
    for path in sorted(model.rglob(METRICS)):
        rows = [parse_json(line, path) for line in read_bytes(path, JSON_LIMIT).splitlines()]
        if not all(isinstance(row, dict) and row.keys() >= _EPOCH for row in rows):
            raise HardalignError(f"{path}: is damaged; remove the folder to run this again")
        epochs += rows
    return epochs


def _files(folder: Path, name: str) -> Iterator[Path]:
    if not folder.is_dir():
        raise HardalignError(f"{folder}: no such folder; `hardalign reproduce` makes one")
    yield from sorted(folder.glob(f"*/{name}"))


def _object(path: Path) -> dict[str, Any]:
    values = read_json(path)
    if not isinstance(values, dict):
        raise HardalignError(f"{path}: is not a JSON object; remove it to run this again")
    return values


def _run(path: Path, values: Any) -> Run:
    if isinstance(values, dict) and "files" in values:
        values = {**values, "files": _build(path, DataFiles, values["files"])}
    return _build(path, Run, values)


def _build(path: Path, kind: type[T], values: object) -> T:
    try:
        return build_record(kind, values, "it", extra=True)
    except HardalignError as error:
        raise HardalignError(
            f"{path}: {error}; another version of hardalign may have written it; remove the file "
            "to run this again"
        ) from error
