"""A full disk, a failed rename, a failed sync: for every file that commands write."""

from __future__ import annotations

import errno
import io
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attack.harness import Outcome, call, call_line
from attack.world import World, make_world
from hardalign.config import SIZES
from hardalign.errors import HardalignError
from hardalign.experiments.run import FAILURE, RESULT, RUN, Run, prepare, write_failure
from hardalign.experiments.worker import execute
from hardalign.files import HOLDER, LOCK
from hardalign.model_folder import CHECKPOINT, CONFIG, METRICS, VOCABULARY, WEIGHTS
from hardalign.training.run import RESUME, Reporter

FAULTS = ("full disk", "failed rename", "failed sync")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    sizes = dict(SIZES)
    yield make_world(tmp_path_factory.mktemp("faults") / "world", ("hard",))
    SIZES.update(sizes)


@pytest.fixture
def folder(world: World) -> Iterator[Path]:
    with world.copy("hard", "lexicon", "grid") as folder:
        yield folder


class Full(io.BufferedWriter):
    """A file on a disk that is full."""

    def write(self, content: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def inject(fault: str, name: str, patch: pytest.MonkeyPatch) -> list[str]:
    """Makes the writing of files of one name fail; returns a list of those that failed."""
    hits: list[str] = []
    replace, sync = Path.replace, os.fsync

    def fails(handle: int) -> bool:
        fragment = Path(f"/proc/self/fd/{handle}").readlink().name
        if fragment.startswith(f".{name}."):
            hits.append(fragment)
        return fragment.startswith(f".{name}.")

    def broken_replace(path: Path, target: Path) -> Path:
        if Path(target).name != name:
            return replace(path, target)
        hits.append(path.name)
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    def broken_sync(handle: int) -> None:
        if fails(handle):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(handle)

    def broken_open(handle: int, mode: str, *args: Any, **options: Any) -> Any:
        raw = io.FileIO(handle, mode)
        return Full(raw) if fails(handle) else io.BufferedWriter(raw)

    if fault == "full disk":
        patch.setattr("hardalign.files.os.fdopen", broken_open)
    elif fault == "failed rename":
        patch.setattr(Path, "replace", broken_replace)
    else:
        patch.setattr(os, "fsync", broken_sync)
    return hits


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder but for locks, which stay."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (LOCK, HOLDER)
    }


def assert_complains(outcome: Outcome, name: str) -> None:
    assert outcome.trouble is None
    assert outcome.code == 2, outcome
    line = outcome.err.splitlines()[-1]
    assert line.startswith("hardalign: ")
    assert name in line
    assert "cannot be written" in line


WRITERS: dict[str, Callable[[Path], Outcome]] = {
    "out.tsv": lambda f: call("predict", "hard", "words.txt", output=Path("out.tsv"), folder=f),
    "out.dict": lambda f: call(
        "lexicon",
        "lexicon",
        "words.txt",
        style="mfa",
        known=("lexicon.tsv",),
        output=Path("out.dict"),
        folder=f,
    ),
    "out.html": lambda f: call("errors", "hard", "pairs.tsv", output=Path("out.html"), folder=f),
    "out.svg": lambda f: call("plot", "hard", "ab", output=Path("out.svg"), folder=f),
    "out.png": lambda f: call("plot", "hard", "ab", output=Path("out.png"), folder=f),
    "out.onnx": lambda f: call("export", "hard", Path("out.onnx"), folder=f),
    "out.step.onnx": lambda f: call("export", "hard", Path("out.onnx"), folder=f),
    "dev.tsv": lambda f: call(
        "split", "pairs.tsv", out=Path("parts"), dev=0.3, overwrite=True, folder=f
    ),
    "report.md": lambda f: call("reproduce", report=Path("grid"), folder=f),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", WRITERS)
def test_what_a_command_writes(
    name: str, fault: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WRITERS[name](folder).code == 0
    (path,) = folder.rglob(name)
    path.write_bytes(b"what was there before")
    before = contents(folder)
    with monkeypatch.context() as patch:
        hits = inject(fault, name, patch)
        assert_complains(WRITERS[name](folder), name)
    assert len(hits) == 1
    after = contents(folder)
    kept = {name for name in after if name.endswith(".partial")}  # to resume from
    assert after.keys() - kept == before.keys()
    assert path.read_bytes() == b"what was there before"
    assert WRITERS[name](folder).code == 0
    assert path.read_bytes() != b"what was there before"


def train(folder: Path, out: str, epochs: int = 2) -> Outcome:
    options = [
        "--epochs",
        str(epochs),
        "--out",
        out,
        "--resume",
        "--recipe",
        "paper",
        "--set",
        "learning_rate=0.1",
    ]
    return call_line(["train", "pairs.tsv", "--dev", "pairs.tsv", *options], b"", folder)


@pytest.fixture(scope="module")
def calm(world: World) -> dict[str, bytes]:
    """What a run leaves that nothing happened to."""
    with world.copy() as folder:
        assert train(folder, "calm").code == 0
        return contents(folder / "calm")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", [VOCABULARY, CONFIG, WEIGHTS, METRICS, CHECKPOINT])
def test_training(
    name: str, fault: str, calm: dict[str, bytes], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose folder cannot be written ends, and goes on as if nothing had happened."""
    with monkeypatch.context() as patch:
        hits = inject(fault, name, patch)
        assert_complains(train(folder, "new"), name)
        assert len(hits) == 1
        assert not (folder / "new" / name).exists()
        assert not list((folder / "new").glob(".*.part"))
    assert train(folder, "new").code == 0
    for one in (VOCABULARY, CONFIG, WEIGHTS):
        assert (folder / "new" / one).read_bytes() == calm[one]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", [CONFIG, METRICS, CHECKPOINT])
def test_going_on_with_training(
    name: str, fault: str, calm: dict[str, bytes], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train(folder, "new", 1).code == 0
    before = contents(folder / "new")
    with monkeypatch.context() as patch:
        inject(fault, name, patch)
        assert_complains(train(folder, "new"), name)
    after = contents(folder / "new")
    assert after.keys() - {RESUME} == before.keys()
    assert after[name] == before[name]
    assert train(folder, "new").code == 0
    assert (folder / "new" / WEIGHTS).read_bytes() == calm[WEIGHTS]


RUN_OF_GRID = Run("toy:copy", "hard", overrides={"words": 30, "epochs": 1, "encoder": 4})
RECORDS: dict[str, Callable[[Path], object]] = {
    RUN: lambda folder: prepare(folder.parent, RUN_OF_GRID),
    FAILURE: lambda folder: write_failure(folder, "why"),
    RESULT: lambda folder: execute(RUN_OF_GRID, folder, Reporter()),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", RECORDS)
def test_records_of_runs(
    name: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / RUN_OF_GRID.name
    folder.mkdir()
    with monkeypatch.context() as patch:
        inject(fault, name, patch)
        with pytest.raises(HardalignError, match=f"{name}: cannot be written"):
            RECORDS[name](folder)
    assert not (folder / name).exists()
    assert not list(folder.glob(".*.part"))
    RECORDS[name](folder)
    assert (folder / name).stat().st_size


def test_the_cache_of_a_dictionary_on_a_full_disk(folder: Path) -> None:
    """SQLite writes it, so the fault is a real one: no file may grow any more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        outcome = WRITERS["out.dict"](folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert outcome.trouble is None
    assert outcome.code == 2
    assert not (folder / "out.dict").exists()
    assert WRITERS["out.dict"](folder).code == 0
