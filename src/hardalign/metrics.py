"""How good predictions are: ACC, WER, PER, MFS and MLD, as the paper computes them.

Everything is counted in symbols, not characters: the phoneme ``AE1`` is one symbol.

A prediction is compared with the *closest* of its references: the one at the smallest edit
distance, and of those the longest. All figures of an item depend only on its distance and that
length, so the order of the references never matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import fsum

import numpy as np
from rapidfuzz.distance import Levenshtein


@dataclass(frozen=True, slots=True)
class Item:
    """The score of one prediction against the closest of its references."""

    distance: int
    """Edit distance (insertions, deletions, substitutions; each costs 1)."""
    prediction_length: int
    reference_length: int

    @property
    def correct(self) -> bool:
        """Whether the prediction equals one of the references."""
        return self.distance == 0

    @property
    def error_rate(self) -> float:
        """Distance per reference symbol; an empty reference counts as one symbol long.

        So an empty prediction of an empty reference has rate 0, and every superfluous symbol
        costs 1.
        """
        return self.distance / max(1, self.reference_length)

    @property
    def f_score(self) -> float:
        """FS of the paper's appendix on MFS; 1 where both strings are empty.

        With LCS = (|c| + |r| - ED) / 2, R = LCS / |r| and P = LCS / |c|, the harmonic mean
        2RP / (R + P) is 2 LCS / (|c| + |r|), which also covers R = P = 0.
        """
        lengths = self.prediction_length + self.reference_length
        return 1 - self.distance / lengths if lengths else 1.0


@dataclass(frozen=True, slots=True)
class Metrics:
    """The scores of a set of predictions."""

    n: int
    """Evaluation items."""
    acc: float
    """Percentage of items predicted correctly: equal to any of their references."""
    wer: float
    """Word error rate in percent: 100 - acc."""
    per: float
    """Phoneme error rate, word mean: the mean over items of distance / reference length.

    The paper's PER, a fraction (0.073).
    """
    per_corpus: float
    """Phoneme error rate, corpus level: sum of distances / sum of reference lengths."""
    mfs: float
    """Mean F-score, 0 to 1, as in the paper's appendix."""
    mld: float
    """Mean Levenshtein distance."""

    def to_dict(self) -> dict[str, int | float]:
        """Returns the figures by name, ready for JSON."""
        return asdict(self)


def score_item(prediction: Sequence[str], references: Sequence[Sequence[str]]) -> Item:
    """Compare one prediction with the closest of its references.

    Args:
        prediction: The predicted symbols; may be empty.
        references: One or more correct answers, each a sequence of symbols; may be empty ones.
    """
    if not references:
        raise ValueError("an item needs at least one reference")
    # rapidfuzz compares symbols by their 64-bit hashes: whole symbols, whatever their spelling.
    distance, negative_length = min(
        (Levenshtein.distance(prediction, reference), -len(reference)) for reference in references
    )
    return Item(distance, len(prediction), -negative_length)


def evaluate(
    predictions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> Metrics:
    """Score predictions, each against the one or more references of its item.

    >>> evaluate([["K", "AE1", "T"]], [[["K", "AA1", "T"], ["K", "AE1", "T", "S"]]]).mld
    1.0
    """
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions for {len(references)} items")
    return summarize([score_item(p, r) for p, r in zip(predictions, references, strict=True)])


def summarize(items: Sequence[Item]) -> Metrics:
    """Returns the metrics of scored items."""
    if not items:
        raise ValueError("nothing to evaluate")
    n = len(items)
    distance = sum(item.distance for item in items)
    acc = 100 * sum(item.correct for item in items) / n
    return Metrics(
        n=n,
        acc=acc,
        wer=100 - acc,
        per=fsum(item.error_rate for item in items) / n,
        per_corpus=distance / max(1, sum(item.reference_length for item in items)),
        mfs=fsum(item.f_score for item in items) / n,
        mld=distance / n,
    )


def intervals(
    items: Sequence[Item], *, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """Returns by name the percentile bootstrap interval of each metric, over the items."""
    columns = np.array(
        [
            (100.0 * i.correct, i.error_rate, i.distance, i.reference_length, i.f_score)
            for i in items
        ]
    )  # [n, 5]
    random = np.random.default_rng(seed)
    draws = (random.integers(0, len(items), len(items)) for _ in range(resamples))
    means = np.array([columns[draw].mean(0) for draw in draws])  # [resamples, 5]
    acc, per, mld, length, mfs = means.T
    per_corpus = mld / np.maximum(length, 1 / len(items))
    names = ("acc", "wer", "per", "per_corpus", "mfs", "mld")
    tail = 100 * (1 - level) / 2
    low, high = np.percentile((acc, 100 - acc, per, per_corpus, mfs, mld), (tail, 100 - tail), 1)
    return dict(zip(names, zip(low.tolist(), high.tolist(), strict=True), strict=True))


def calibration_error(
    confidences: Sequence[float], correct: Sequence[bool], bins: int = 10
) -> float:
    """Returns the expected calibration error of whole predictions, 0 to 1.

    Predictions are put into bins of equal width by their confidence, p(prediction | source). The
    error is the mean over predictions of how far their bin's share of right ones is from its mean
    confidence: Σ_b n_b / n · |right_b / n_b - confidence_b / n_b|.

    >>> calibration_error([0.9, 0.9], [True, False])
    0.4
    """
    gaps = [0.0] * bins
    for confidence, right in zip(confidences, correct, strict=True):
        gaps[min(int(confidence * bins), bins - 1)] += right - confidence
    return fsum(map(abs, gaps)) / len(confidences)
