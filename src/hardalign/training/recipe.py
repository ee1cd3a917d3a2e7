"""Recipes, which set epochs, batch size, learning rate and dropout.

``auto`` adapts to the amount of data: Adam, warm-up for a tenth of the steps, then cosine decay to
zero over a fixed number of epochs; the last weights are kept, so development data serves only for
evaluation and calibration. ``paper`` is that of Wu, Shapiro & Cotterell (2018): Adam at 0.001,
halved after every epoch that does not improve the development log-likelihood, until it is below
1e-5; the epoch with the best development accuracy is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hardalign.config import ModelConfig, Recipe, TrainingConfig, fields_of
from hardalign.data.formats import Example
from hardalign.data.inflection import hallucinate
from hardalign.data.text import plural
from hardalign.errors import HardalignError
from hardalign.systems import find_system

PAPER = {"epochs": 50, "batch_size": 20, "learning_rate": 1e-3}
CLIP = 5.0
"""Maximum gradient norm for size large, as in the paper's code."""

_DECIDED = ("epochs", "batch_size", "learning_rate", "dropout", "state_dropout", "symbol_dropout")
_BY_PAIRS = (
    (2_000, 20, 8, 0.002, 0.4, 0.4, 0.2),
    (8_000, 16, 16, 0.002, 0.3, 0.2, 0.1),
    (50_000, 10, 32, 0.003, 0.2),
    (math.inf, 8, 32, 0.003, 0.2),
)
AUTO: list[tuple[float, dict[str, Any]]] = [
    (below, dict(zip(_DECIDED, values, strict=False))) for below, *values in _BY_PAIRS
]
"""Settings for fewer pairs than a threshold; figures in ``docs/results.md``."""
INFLECTION: dict[str, Any] = {
    "epochs": 14,
    "batch_size": 20,
    "learning_rate": 0.002,
    "dropout": 0.3,
    "tags": "beside",
}
"""Settings for data with tags, from ``FEW_FORMS`` pairs on."""
FEW_FORMS = 1_000
FEW_INFLECTION = {"copying": True, "tags": "inside", "hallucinate": 4_000}
"""With fewer, in addition to ``AUTO``; hallucinated examples count as pairs."""
VERY_FEW_FORMS, VERY_FEW_HALLUCINATED = 200, 1_500
LARGE_RATE = 0.0015
"""Maximum learning rate for size large."""


def decide(recipe: Recipe, pairs: int, size: ModelConfig, tagged: bool) -> dict[str, Any]:
    """Return a recipe's settings for a number of training pairs and a model size.

    ``tagged`` says whether sources have tags that can be set beside them, as in inflection.
    """
    large = size.encoder_layers > 1 or size.decoder >= 400
    if recipe == "paper":
        return {**PAPER, "clip": CLIP if large else None}
    settings: dict[str, Any] = {}
    if tagged and pairs < FEW_FORMS:
        settings |= FEW_INFLECTION
        if pairs < VERY_FEW_FORMS:
            settings["hallucinate"] = VERY_FEW_HALLUCINATED
        pairs += settings["hallucinate"]
    settings |= next(settings for below, settings in AUTO if pairs < below)
    settings["batch_size"] = max(5, min(settings["batch_size"], pairs // 100))
    if tagged and "hallucinate" not in settings:
        settings = dict(INFLECTION)
    if large:
        settings["learning_rate"] = min(settings["learning_rate"], LARGE_RATE)
        settings["dropout"] = max(settings["dropout"], size.dropout)
        settings["clip"] = CLIP
    return settings


def settings_of(
    recipe: Recipe,
    examples: Sequence[Example],
    sizes: ModelConfig,
    chosen: dict[str, Any],
    *,
    own_sizes: bool,
    fine_tuned: bool,
) -> dict[str, Any]:
    """Return the settings that the recipe or the user decides; all others are those of ``sizes``.

    The recipe does not override what the user has ``chosen``, what the model to be ``fine_tuned``
    already fixes or the user's ``own_sizes``, and does not set what the system cannot do.
    """
    kind = find_system(sizes.system).model
    tagged = kind.can_set_tags_beside and any(example.tags for example in examples)
    pairs = sum(len(example.targets) for example in examples)
    decided = decide(recipe, pairs, sizes, tagged)
    fixed = set() if kind.can_copy else {"copying"}
    if fine_tuned:
        fixed |= {"tags", "copying", "hallucinate"}
    elif own_sizes:
        fixed |= {*fields_of(ModelConfig, decided), "hallucinate"}
    elif chosen.get("known_forms") or not _inflects(examples):
        fixed |= {"hallucinate"}
    return {name: value for name, value in decided.items() if name not in fixed} | chosen


def _inflects(examples: Sequence[Example]) -> bool:
    """Whether sources share stems with their targets, so that examples can be hallucinated."""
    try:
        hallucinate(examples, 1, 0)
    except HardalignError:
        return False
    return True


def described(pairs: int, model: ModelConfig, training: TrainingConfig) -> str:
    """Summarise the settings for the user, in one line."""
    parts = [
        plural(training.epochs, "epoch", "epochs"),
        f"batch {training.batch_size}",
        f"learning rate {training.learning_rate:g}",
        f"dropout {model.dropout:g}",
    ]
    for name in ("state_dropout", "symbol_dropout", "unk_dropout"):
        if value := getattr(model, name):
            parts.append(f"{name.replace('_', ' ')} {value:g}")
    if training.hallucinate:
        parts.append(f"{training.hallucinate} hallucinated")
    other = "--recipe paper for the paper's" if training.recipe == "auto" else "the paper's recipe"
    return f"{pairs:,} pairs: {', '.join(parts)}; {other}"


def cosine_rate(config: TrainingConfig, step: int, steps: int) -> float:
    """Return the learning rate of a step, from 0: linear warm-up, then cosine decay to zero."""
    done = (step + 1) / (steps + 1)
    if done < config.warmup:
        return config.learning_rate * done / config.warmup
    left = (1 - done) / (1 - config.warmup)
    return config.learning_rate * (1 - math.cos(math.pi * left)) / 2
