"""Made-up results of grids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hardalign.files import write_json
from hardalign.report.paper import BATCH_SIZES, task_of
from hardalign.runs import RESULT, Result, Run, write_run


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
    if task_of(corpus) in BATCH_SIZES:
        overrides = {"batch_size": BATCH_SIZES[task_of(corpus)]} | overrides
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
        target = folder / one.run.name
        target.mkdir(parents=True)
        write_run(target, one.run)
        write_json(target / RESULT, one.to_dict())
