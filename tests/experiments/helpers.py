"""Runs that take a moment, and made-up results."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hardalign.experiments.engines import State
from hardalign.experiments.report import paper_recipe
from hardalign.experiments.run import LOG, MODEL, RESULT, Result, Run, prepare, write_failure
from hardalign.experiments.worker import work
from hardalign.files import make_folder, write_bytes, write_json
from hardalign.model_folder import METRICS

TINY = {"words": 60, "epochs": 2, "embedding": 8, "encoder": 8, "decoder": 8}


def tiny_run(system: str = "hard", seed: int = 0, **overrides: Any) -> Run:
    """A run on a few made-up words."""
    return Run("toy:copy", system, "small", seed, {**TINY, **overrides})


class Here:
    """In place of ``start_process``: the run is done in this process, which has imported torch."""

    def __init__(self, folder: Path, arguments: Sequence[str]) -> None:
        command, device, *data = arguments
        with (folder / LOG).open("a") as log, redirect_stdout(log):
            self.returncode = work(folder, command, device, *map(Path, data))

    def poll(self) -> int:
        return self.returncode

    def communicate(self) -> None:
        """There is no pipe to close."""


class Scripted:
    """An engine without processes: a run ends the first time one asks."""

    def __init__(self, folder: Path, state: Callable[[Run], State] = lambda run: "done") -> None:
        self._folder, self._state = folder, state
        self._running: list[Run] = []
        self.started: list[Run] = []
        self.closed = False

    def free(self) -> int:
        return 2 - len(self._running)

    def start(self, run: Run) -> None:
        assert self.free() > 0
        self.started.append(run)
        self._running.append(run)

    def ended(self) -> list[tuple[Run, State]]:
        ended = [(run, self._state(run)) for run in self._running]
        self._running = []
        for run, state in ended:
            if state == "done":
                write_json(self._folder / run.name / RESULT, asdict(result_of(run)))
            elif state == "failed":
                write_failure(self._folder / run.name, "as told")
        return ended

    def close(self) -> None:
        self.closed = True


def write_epochs(folder: Path, scores: Sequence[float]) -> None:
    """Write the metrics of a run's epochs."""
    make_folder(folder / MODEL)
    rows = (
        {
            "epoch": epoch,
            "dev_log_likelihood": score,
            "dev_acc": 10.0 * epoch,
            "words_per_second": 100.0,
            "seconds": 12.5,
        }
        for epoch, score in enumerate(scores, start=1)
    )
    write_bytes(folder / MODEL / METRICS, "".join(json.dumps(row) + "\n" for row in rows).encode())


def result_of(run: Run) -> Result:
    """Some result."""
    return Result(run, {"n": 2, "acc": 50.0}, 10, 1, 2.5, 2, [1, 0], "ab", "0.1.0")


def result(
    corpus: str = "g2p/NETtalk",
    system: str = "hard",
    size: str = "small",
    seed: int = 0,
    *,
    correct: Sequence[int] = (1, 1, 0, 1),
    items: str = "items",
    per: float = 0.1,
    **overrides: Any,
) -> Result:
    """A complete run that had the given items right, by the paper's recipe if nothing is said."""
    if corpus.startswith("news15/"):
        overrides = paper_recipe(corpus) | overrides
    acc = 100 * sum(correct) / len(correct)
    metrics = {"n": len(correct), "acc": acc, "wer": 100 - acc, "per": per, "per_corpus": per}
    metrics |= {"mfs": 0.9, "mld": 0.25}
    return Result(
        run=Run(corpus, system, size, seed, overrides),
        metrics=metrics,
        parameters=1_207_155,
        epochs=10 + seed,
        seconds=60.0,
        sources=len(correct),
        correct=list(correct),
        sources_sha256=f"{corpus} {items}",
        version="0.1.0",
    )


def right(count: int, n: int = 100) -> list[int]:
    """The first items right, the others wrong."""
    return [1] * count + [0] * (n - count)


def write(folder: Path, *results: Result) -> None:
    """Write results as a grid leaves them."""
    for one in results:
        prepare(folder, one.run)
        write_json(folder / one.run.name / RESULT, asdict(one))
