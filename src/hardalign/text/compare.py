"""Comparison of models on the same items: accuracy, significance, and where they differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from hardalign.data.formats import Example, Format
from hardalign.data.text import Symbols
from hardalign.metrics import LEVEL, Comparison, Metrics, compare_all, evaluate


@dataclass(frozen=True)
class Judged:
    """The predictions of one model and their accuracy."""

    model: str
    predictions: list[str]
    correct: list[bool]
    metrics: Metrics


@dataclass(frozen=True)
class Contest:
    """All models compared with one another."""

    items: Sequence[Example]
    models: list[Judged]
    tests: dict[tuple[str, str], tuple[Comparison, float]]
    """For each pair of models the difference in percentage points of accuracy, first minus second,
    and its p, corrected for the number of pairs (Holm)."""

    def alone(self, model: int) -> list[int]:
        """Return the indices of items that only this model gets right."""
        this_alone = tuple(k == model for k in range(len(self.models)))
        return [index for index, correct in enumerate(self._correct) if correct == this_alone]

    @property
    def agreed(self) -> tuple[int, int]:
        """How many items all models get right, and how many none does."""
        counts = [sum(correct) for correct in self._correct]
        return counts.count(len(self.models)), counts.count(0)

    @property
    def _correct(self) -> list[tuple[bool, ...]]:
        """For each item, which models get it right."""
        return list(zip(*(model.correct for model in self.models), strict=True))

    def to_dict(self, spell: Callable[[Symbols], str]) -> dict[str, Any]:
        """Return the content for JSON."""
        every, none = self.agreed
        return {
            "n": len(self.items),
            "models": [{"model": model.model, **model.metrics.to_dict()} for model in self.models],
            "all_right": every,
            "none_right": none,
            "comparisons": [
                {
                    "first": first,
                    "second": second,
                    "difference": test.difference,
                    "interval": [test.low, test.high],
                    "p": p,
                    "significant": p < LEVEL,
                }
                for (first, second), (test, p) in self.tests.items()
            ],
            "alone": {
                model.model: [
                    {
                        "source": self.items[index].text,
                        "references": [spell(target) for target in self.items[index].targets],
                        "predictions": [other.predictions[index] for other in self.models],
                    }
                    for index in self.alone(k)
                ]
                for k, model in enumerate(self.models)
            },
        }


def judge(
    model: str, items: Sequence[Example], predictions: Sequence[Symbols], layout: Format
) -> Judged:
    """Evaluate a model's predictions, one for each item."""
    counted = [layout.counted(symbols) for symbols in predictions]
    references = [[layout.counted(target) for target in item.targets] for item in items]
    return Judged(
        model,
        [layout.join_target(symbols) for symbols in predictions],
        [symbols in targets for symbols, targets in zip(counted, references, strict=True)],
        evaluate(counted, references),
    )


def contest(items: Sequence[Example], models: Sequence[Judged]) -> Contest:
    """Compare models on the same items, each pair by a paired test."""
    points = {
        (first.model, second.model): [100 * np.subtract(first.correct, second.correct, dtype=float)]
        for first, second in combinations(models, 2)
    }
    return Contest(items, list(models), compare_all(points))
