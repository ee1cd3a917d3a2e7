"""Models side by side on the same words: which is better, is that chance, and where they differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from hardalign.data.example import Example, Symbols
from hardalign.data.formats import Format
from hardalign.metrics import Metrics, evaluate
from hardalign.report.significance import LEVEL, Comparison, compare, holm


@dataclass(frozen=True)
class Answers:
    """What one model says to all items."""

    model: str
    predictions: list[str]
    correct: list[bool]
    metrics: Metrics


@dataclass(frozen=True)
class Duel:
    """Two models compared."""

    first: str
    second: str
    comparison: Comparison
    """In percentage points of accuracy, first minus second."""
    p: float
    """Corrected for the number of comparisons (Holm)."""

    @property
    def significant(self) -> bool:
        """Says whether chance is an unlikely reason for the difference."""
        return self.p < LEVEL


@dataclass(frozen=True)
class Contest:
    """All models compared with one another."""

    items: list[Example]
    answers: list[Answers]
    duels: list[Duel]

    def alone(self, model: int) -> list[int]:
        """Returns the items that this model alone gets right."""
        return [
            index
            for index, right in enumerate(self.answers[model].correct)
            if right and sum(one.correct[index] for one in self.answers) == 1
        ]

    @property
    def agreed(self) -> tuple[int, int]:
        """Returns how many items all models get right, and how many none does."""
        rows = [sum(rights) for rights in zip(*(one.correct for one in self.answers), strict=True)]
        return rows.count(len(self.answers)), rows.count(0)

    def to_dict(self, spell: Callable[[Symbols], str]) -> dict[str, Any]:
        """Returns everything as JSON can hold it."""
        both, none = self.agreed
        return {
            "n": len(self.items),
            "models": [{"model": one.model, **one.metrics.to_dict()} for one in self.answers],
            "all_right": both,
            "none_right": none,
            "comparisons": [
                {
                    "first": duel.first,
                    "second": duel.second,
                    "difference": duel.comparison.difference,
                    "interval": [duel.comparison.low, duel.comparison.high],
                    "p": duel.p,
                    "significant": duel.significant,
                }
                for duel in self.duels
            ],
            "alone": {
                one.model: [
                    {
                        "source": self.items[index].text,
                        "references": [spell(target) for target in self.items[index].targets],
                        "predictions": [other.predictions[index] for other in self.answers],
                    }
                    for index in self.alone(k)
                ]
                for k, one in enumerate(self.answers)
            },
        }


def model_answers(
    model: str, items: Sequence[Example], predictions: Sequence[Symbols], layout: Format
) -> Answers:
    """Judges what a model says to all items."""
    counted = [layout.counted(symbols) for symbols in predictions]
    references = [[layout.counted(target) for target in item.targets] for item in items]
    return Answers(
        model,
        [layout.join_target(symbols) for symbols in predictions],
        [symbols in targets for symbols, targets in zip(counted, references, strict=True)],
        evaluate(counted, references),
    )


def contest(items: Sequence[Example], answers: Sequence[Answers]) -> Contest:
    """Compares models that answered the same items, each pair of them by a paired test."""
    tests = {}
    for first, second in combinations(answers, 2):
        points = 100 * (np.array(first.correct, float) - np.array(second.correct, float))
        tests[first.model, second.model] = compare([points])
    corrected = holm({models: test.p for models, test in tests.items()})
    duels = [Duel(*models, test, corrected[models]) for models, test in tests.items()]
    return Contest(list(items), list(answers), duels)
