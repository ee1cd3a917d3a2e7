"""How long runs will take, from the speed of those that have run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from hardalign.corpora.registry import registry
from hardalign.experiments.runs import MODEL, RUN, Run, read_run
from hardalign.experiments.settings import settings_of
from hardalign.folder import METRICS

SPEEDS = {"small": 500.0, "large": 80.0}
"""Words per second of one thread where nothing has been measured: what `hard` and `soft` reach."""
USUAL_EPOCHS = 20
"""After how many the learning rate is usually too small to go on; 15 to 33 were seen."""
USUAL_PAIRS = 10_000
"""Of a corpus about which nothing is known."""
_BYTES_PER_PAIR = {"news": 120}
_USUAL_BYTES_PER_PAIR = 30


def epochs_of(folder: Path) -> list[dict[str, Any]]:
    """The rows of ``metrics.jsonl`` in a run's folder; none before the first epoch."""
    try:
        lines = (folder / MODEL / METRICS).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines]


class Estimate:
    """Predicts the duration of runs from what a grid's folder holds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._speeds: dict[tuple[str, str], list[float]] = {}
        self._pairs: dict[str, float] = {}
        for path in sorted(folder.glob(f"*/{RUN}")):
            run = read_run(path.parent)
            rows = epochs_of(path.parent)
            rows = rows[1:] or rows  # the first epoch is slower: it warms up
            if not rows:
                continue
            if settings_of(run).model == settings_of(replace(run, overrides={})).model:
                speeds = self._speeds.setdefault((run.system, run.size), [])
                speeds.extend(row["words_per_second"] for row in rows)
            if "words" not in run.overrides:
                # At the speed of training: so the time of validation counts as pairs, too.
                words = (row["seconds"] * row["words_per_second"] for row in rows)
                self._pairs[run.corpus] = median(words)

    def measured(self, run: Run) -> bool:
        """Whether the speed of such a run was measured in this folder."""
        return (run.system, run.size) in self._speeds

    def seconds(self, run: Run) -> float:
        """How long a run still takes: the epochs that its folder does not have yet."""
        settings = settings_of(run)
        pairs = settings.corpus.words or self._pairs.get(run.corpus) or _pairs(run.corpus)
        epochs = min(settings.training.epochs, USUAL_EPOCHS) - len(
            epochs_of(self._folder / run.name)
        )
        speed = median(self._speeds.get((run.system, run.size), [SPEEDS[run.size]]))
        return max(0, epochs) * pairs / speed


def _pairs(name: str) -> float:
    """About how many training pairs a corpus has, from the size of its file."""
    corpus = registry().get(name)
    size = (
        next((file.size for file in corpus.files if file.split == "train"), None) if corpus else 0
    )
    if corpus is None or not size:
        return USUAL_PAIRS
    return size / _BYTES_PER_PAIR.get(corpus.collection.format.name, _USUAL_BYTES_PER_PAIR)
