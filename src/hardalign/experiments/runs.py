"""What a grid consists of: a run, its folder, and what it leaves there. Plain data, no torch.

DIR/<name of the run>/
    run.json      what to do: corpus, system, size, seed, overrides
    model/        the model folder, as `hardalign train` writes it
    log.txt       what the run wrote
    result.json   the figures; written last, so a run that has it is complete
    failure.json  why it failed, if it did; removed upon success
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from hardalign.errors import HardalignError
from hardalign.files import read_json, sha256, write_json

RUN, MODEL, LOG = "run.json", "model", "log.txt"
RESULT, FAILURE = "result.json", "failure.json"

T = TypeVar("T", "Run", "Result", "Failure")


@dataclass(frozen=True)
class Run:
    """One training run of a grid: everything that decides its outcome."""

    corpus: str
    system: str
    size: str = "small"
    seed: int = 0
    overrides: dict[str, Any] = field(default_factory=dict, hash=False)
    """Settings that are not those of the size, by name; ``settings.py`` says which there are."""

    @property
    def name(self) -> str:
        """The name of its folder: equal runs have equal names, different ones different names."""
        corpus = self.corpus.replace("/", "-").replace(":", "-")
        name = f"{corpus}.{self.system}.{self.size}.{self.seed}"
        if not self.overrides:
            return name
        canonical = json.dumps(self.overrides, sort_keys=True, separators=(",", ":"))
        return f"{name}.{sha256(canonical.encode())[:8]}"

    def to_dict(self) -> dict[str, Any]:
        """The content of ``run.json``."""
        return asdict(self)


@dataclass(frozen=True)
class Result:
    """What a complete run found on the test part of its corpus."""

    run: Run
    metrics: dict[str, float]
    """n, acc, wer, per, per_corpus, mfs and mld, as ``hardalign evaluate --json`` gives them."""
    parameters: int
    epochs: int
    """Epochs trained, of which ``model/`` holds the best."""
    seconds: float
    """Time spent on those epochs, whoever's attempt they were."""
    sources: int
    """Evaluation items: distinct sources of the test part."""
    correct: list[int]
    """1 or 0 for each item, in order."""
    distances: list[int]
    """Edit distance of each item to its closest reference."""
    sources_sha256: str
    """Of the evaluated sources: runs compare item by item only where it is equal."""
    version: str
    """The hardalign that evaluated."""

    def to_dict(self) -> dict[str, Any]:
        """The content of ``result.json``."""
        return asdict(self)


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
    """The complete runs of a grid's folder, by name.

    Raises:
        HardalignError: If there is no such folder, or a file in it is damaged.
    """
    return [read_result(path.parent) for path in _files(folder, RESULT)]


def read_failures(folder: Path) -> list[Failure]:
    """The runs of a grid's folder that failed when they were last tried, by name.

    Raises:
        HardalignError: If there is no such folder, or a file in it is damaged.
    """
    return [
        _build(path, Failure, {**_object(path), "run": read_run(path.parent)})
        for path in _files(folder, FAILURE)
    ]


def read_result(folder: Path) -> Result:
    """The result in a run's folder."""
    path = folder / RESULT
    values = _object(path)
    return _build(path, Result, {**values, "run": _build(path, Run, values.get("run"))})


def read_run(folder: Path) -> Run:
    """What a run's folder is for."""
    return _build(folder / RUN, Run, _object(folder / RUN))


def write_run(folder: Path, run: Run) -> None:
    """Write ``run.json``, or make sure that the one that is there says the same.

    Raises:
        HardalignError: If the folder belongs to another run.
    """
    if not (folder / RUN).exists():
        write_json(folder / RUN, run.to_dict())
    elif read_run(folder) != run:
        raise HardalignError(f"{folder / RUN}: describes another run; choose another --out")


def write_failure(folder: Path, error: str, traceback: str | None = None) -> None:
    """Record in a run's folder that an attempt failed."""
    attempt = failures_of(folder) + 1
    values = {"error": error, "traceback": traceback, "attempt": attempt}
    write_json(folder / FAILURE, values)


def failures_of(folder: Path) -> int:
    """How many times the run of a folder has failed."""
    path = folder / FAILURE
    return int(_object(path).get("attempt", 0)) if path.exists() else 0


def _files(folder: Path, name: str) -> Iterator[Path]:
    if not folder.is_dir():
        raise HardalignError(f"{folder}: no such folder; `hardalign reproduce` makes one")
    yield from sorted(folder.glob(f"*/{name}"))


def _object(path: Path) -> dict[str, Any]:
    values = read_json(path)
    if not isinstance(values, dict):
        raise HardalignError(f"{path}: is not a JSON object; remove it to run this again")
    return values


def _build(path: Path, kind: type[T], values: object) -> T:
    names = [one.name for one in fields(kind)]
    if not isinstance(values, dict) or set(values) != set(names):
        raise HardalignError(
            f"{path}: does not hold {', '.join(names)} and nothing else; "
            "another version of hardalign may have written it; remove it to run this again"
        )
    return kind(**values)
