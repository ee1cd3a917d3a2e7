"""Are predictions whose alignments cross more often wrong? (paper, Table "confusion")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from hardalign.alignment import EDGE


@dataclass(frozen=True)
class AnalyzedPrediction:
    """Holds one prediction, whether it is right, and what its symbols are connected with."""

    source: str
    prediction: str
    references: list[str]
    correct: bool
    monotonic: bool
    """Whether no two edges cross."""
    edges: list[tuple[int, int]]
    """(source index, target index), both from 0."""


@dataclass(frozen=True)
class Breakdown:
    """Says how many predictions are correct and monotonic, and which are not monotonic."""

    counts: Counter[tuple[bool, bool]]
    """By (correct, monotonic)."""
    crossing: list[AnalyzedPrediction]
    threshold: float = EDGE

    @classmethod
    def of(cls, items: Iterable[AnalyzedPrediction], threshold: float = EDGE) -> Breakdown:
        """Counts a stream of items; only those that are not monotonic are kept."""
        counts, crossing = Counter[tuple[bool, bool]](), []
        for item in items:
            counts[item.correct, item.monotonic] += 1
            if not item.monotonic:
                crossing.append(item)
        return cls(counts, crossing, threshold)

    def table(self) -> str:
        """Returns the table as the paper has it."""
        lines = [f"{'':<14}{'correct':>10}{'incorrect':>10}"]
        for name, monotonic in (("monotonic", True), ("non-monotonic", False)):
            correct, incorrect = self.counts[True, monotonic], self.counts[False, monotonic]
            lines.append(f"{name:<14}{correct:>10}{incorrect:>10}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Returns all of it as JSON can hold it."""
        names = {True: "monotonic", False: "non_monotonic"}
        return {
            "n": self.counts.total(),
            **{
                outcome: {name: self.counts[correct, key] for key, name in names.items()}
                for outcome, correct in (("correct", True), ("incorrect", False))
            },
            "threshold": self.threshold,
            "non_monotonic_items": [asdict(item) for item in self.crossing],
        }
