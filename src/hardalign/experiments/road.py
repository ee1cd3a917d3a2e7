"""``hardalign.train`` as it is planned, on today's functions: goes as soon as it is there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from hardalign.config import ModelConfig, TrainingConfig
from hardalign.corpora.load import Corpus
from hardalign.data.formats import FORMATS
from hardalign.predictor import Predictor, load
from hardalign.training.api import TrainingData, _examples, origin_of, prepare
from hardalign.training.loop import Machine, Reporter
from hardalign.training.loop import train as run

__all__ = ["Reporter", "train"]


def train(
    train: str | Corpus,
    dev: str | None = None,
    *,
    out: Path,
    format: str = "pairs",  # noqa: A002
    system: str,
    size: ModelConfig,
    seed: int,
    device: str,
    threads: int,
    resume: bool,
    reporter: Reporter,
    origin: dict[str, Any],
    **recipe: Any,
) -> Predictor:
    """Train and load."""
    torch.set_num_threads(threads)
    if isinstance(train, Corpus):
        data = TrainingData(train.train, train.dev, train.format, origin)
    else:
        layout = FORMATS[format]
        files = {"train": train, "dev": str(dev)}
        parts = {name: _examples(file, layout, name) for name, file in files.items()}
        origin = {name: origin_of(file, parts[name]) for name, file in files.items()}
        data = TrainingData(parts["train"], parts["dev"], layout, origin)
    training = TrainingConfig(seed=seed, **recipe)
    job = prepare(data, out, replace(size, system=system), training, resume=resume)
    run(job, Machine(device), reporter)
    return load(out)
