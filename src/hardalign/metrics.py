"""Evaluation metrics of the paper, and significance tests.

ACC, WER, PER, MFS and MLD are counted in symbols, not characters: the phoneme ``AE1`` is one. A
prediction is compared with the *closest* of its references: the one at the smallest edit distance,
the longest in case of a tie, so the order of the references never matters.

Two systems are compared by the paired differences of their items:

- *Approximate randomisation* (p): how often the mean difference is as large as observed when the
  sign of each difference is random.
- *Paired bootstrap* (interval): the middle 95% of the means of resampled sets of items.

With several data sets the statistic is the mean over data sets of their mean differences, as in the
paper's averages, and items are drawn within their own data set. The differences take few distinct
values, so counts are drawn instead of items: the distribution is the same, and the cost does not
grow with the number of items. Variance over training seeds is not covered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from math import fsum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from hardalign.data.formats import Example, Format
from hardalign.data.text import Symbols

DRAWS = 10_000
RESAMPLES = 1000
"""Bootstrap resamples for the intervals of a single system."""
SEED = 0
BINS = 10
"""Bins of the calibration error."""
LEVEL = 0.05
"""Differences with a smaller p are significant."""
TEST = f"approximate randomisation over items, two-sided, {DRAWS:,} draws, seed {SEED}"

Floats = NDArray[np.float64]
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Item:
    """A prediction scored against the closest of its references."""

    distance: int
    """Levenshtein distance."""
    prediction_length: int
    reference_length: int

    @property
    def correct(self) -> bool:
        """Whether the prediction equals one of the references."""
        return self.distance == 0

    @property
    def error_rate(self) -> float:
        """Distance per reference symbol; an empty reference counts as one symbol long."""
        return self.distance / max(1, self.reference_length)

    @property
    def f_score(self) -> float:
        """FS of the paper's appendix on MFS; 1 if both strings are empty.

        The harmonic mean of LCS / |r| and LCS / |c| with LCS = (|c| + |r| - ED) / 2.
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
    """Phoneme error rate as in the paper (0.073): word mean of distance / reference length."""
    per_corpus: float
    """Phoneme error rate, corpus level: sum of distances / sum of reference lengths."""
    mfs: float
    """Mean F-score, 0 to 1, as in the paper's appendix."""
    mld: float
    """Mean Levenshtein distance."""

    def to_dict(self) -> dict[str, int | float]:
        """Return the metrics by name."""
        return asdict(self)


def score_item(prediction: Sequence[str], references: Sequence[Sequence[str]]) -> Item:
    """Score a prediction against the closest of its one or more references."""
    if not references:
        raise ValueError("an item needs at least one reference")
    # rapidfuzz compares symbols by their 64-bit hashes: whole symbols, whatever their spelling.
    distance, negative_length = min(
        (Levenshtein.distance(prediction, reference), -len(reference)) for reference in references
    )
    return Item(distance, len(prediction), -negative_length)


def judge(predictions: Sequence[Symbols], items: Sequence[Example], layout: Format) -> list[Item]:
    """Score predictions in whole symbols, even if the model writes parts of symbols."""
    return [
        score_item(layout.counted(said), [layout.counted(target) for target in item.targets])
        for said, item in zip(predictions, items, strict=True)
    ]


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
    """Return the metrics of scored items."""
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


def intervals(items: Sequence[Item]) -> dict[str, tuple[float, float]]:
    """Return a 95% percentile bootstrap interval over items for each metric."""
    figures = [
        (100.0 * i.correct, i.error_rate, i.distance, i.reference_length, i.f_score) for i in items
    ]
    columns, random = np.array(figures), np.random.default_rng(SEED)  # [n, 5]
    draws = (random.integers(0, len(items), len(items)) for _ in range(RESAMPLES))
    means = np.array([columns[draw].mean(0) for draw in draws])  # [resamples, 5]
    acc, per, mld, length, mfs = means.T
    per_corpus = mld / np.maximum(length, 1 / len(items))
    names = ("acc", "wer", "per", "per_corpus", "mfs", "mld")
    low, high = np.percentile((acc, 100 - acc, per, per_corpus, mfs, mld), (2.5, 97.5), 1)
    return dict(zip(names, zip(low.tolist(), high.tolist(), strict=True), strict=True))


def calibration_error(confidences: Sequence[float], correct: Sequence[bool]) -> float:
    """Return the expected calibration error of whole predictions, 0 to 1.

    Σ_b n_b / n · |right_b / n_b - confidence_b / n_b| over equal-width bins of the confidence,
    p(prediction | source).

    >>> calibration_error([0.9, 0.9], [True, False])
    0.4
    """
    gaps = [0.0] * BINS
    for confidence, right in zip(confidences, correct, strict=True):
        gaps[min(int(confidence * BINS), BINS - 1)] += right - confidence
    return fsum(map(abs, gaps)) / len(confidences)


@dataclass(frozen=True)
class Comparison:
    """The difference between two systems on the same items, and its significance."""

    difference: float
    """Mean over data sets of the mean difference of their items."""
    p: float
    """Probability of a difference at least as large under the null hypothesis."""
    low: float
    high: float
    """Bounds of the 95% interval of the difference."""
    data_sets: int
    items: int


def compare(differences: Sequence[Floats]) -> Comparison:
    """Test the differences of paired items, first system minus second, of each data set."""
    if not differences or any(len(items) == 0 for items in differences):
        raise ValueError("nothing to compare: a data set without items")
    difference = float(np.mean([items.mean() for items in differences]))
    # Two generators, so that p does not depend on which system comes first.
    signs, samples = np.random.default_rng(SEED), np.random.default_rng(SEED)
    flipped, resampled = np.zeros(DRAWS), np.zeros(DRAWS)
    for items in differences:
        flipped += _flipped_means(items, signs)
        resampled += _resampled_means(items, samples)
    # A draw equal to the observed difference must count, whatever the rounding of its sum.
    as_large = np.abs(flipped / len(differences)) >= abs(difference) - 1e-12
    low, high = np.quantile(resampled / len(differences), [0.025, 0.975])
    return Comparison(
        difference,
        # The observed signs are one of the draws: p is never 0, and the test keeps its level.
        p=float((1 + as_large.sum()) / (1 + DRAWS)),
        low=float(low),
        high=float(high),
        data_sets=len(differences),
        items=sum(map(len, differences)),
    )


def compare_all(differences: Mapping[K, Sequence[Floats]]) -> dict[K, tuple[Comparison, float]]:
    """Run ``compare`` for several pairs of systems; return them with p corrected by ``holm``."""
    tests = {key: compare(data_sets) for key, data_sets in differences.items()}
    corrected = holm({key: test.p for key, test in tests.items()})
    return {key: (test, corrected[key]) for key, test in tests.items()}


def holm(values: Mapping[K, float]) -> dict[K, float]:
    """Correct the p values of several tests by Holm's method.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    adjusted, largest = {}, 0.0
    for rank, test in enumerate(sorted(values, key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[test]))
        adjusted[test] = largest
    return adjusted


@dataclass(frozen=True)
class Judged:
    """The predictions of one model and their accuracy."""

    model: str
    predictions: list[str]
    correct: list[bool]
    metrics: Metrics

    @classmethod
    def of(
        cls, model: str, predictions: Sequence[Symbols], items: Sequence[Example], layout: Format
    ) -> Judged:
        """Score the predictions of a model of some format, one for each item."""
        scored = judge(predictions, items, layout)
        texts = [layout.join_target(symbols) for symbols in predictions]
        return cls(model, texts, [item.correct for item in scored], summarize(scored))


@dataclass(frozen=True)
class Contest:
    """Pairwise comparison of models on the same items."""

    items: Sequence[Example]
    models: list[Judged]

    @cached_property
    def tests(self) -> dict[tuple[str, str], tuple[Comparison, float]]:
        """For each pair of models, the difference in accuracy in percentage points, and its p.

        The difference is first minus second; p is corrected for the number of pairs (Holm).
        """
        return compare_all(
            {
                (one.model, two.model): [100 * np.subtract(one.correct, two.correct, dtype=float)]
                for one, two in combinations(self.models, 2)
            }
        )

    def alone(self, model: int) -> list[int]:
        """Return the indices of items that only this model gets right."""
        this_alone = tuple(k == model for k in range(len(self.models)))
        return [index for index, correct in enumerate(self._correct) if correct == this_alone]

    @property
    def agreed(self) -> tuple[int, int]:
        """Numbers of items that all models get right, and that none does."""
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


def _flipped_means(differences: Floats, random: np.random.Generator) -> Floats:
    """Return means under random signs, [DRAWS]."""
    sizes, counts = _values(np.abs(differences[differences != 0]))
    positive = random.binomial(counts, 0.5, size=(DRAWS, len(counts)))
    return np.asarray((2 * positive - counts) @ sizes / len(differences))


def _resampled_means(differences: Floats, random: np.random.Generator) -> Floats:
    """Return means of items drawn with replacement, [DRAWS]."""
    values, counts = _values(differences)
    samples = random.multinomial(len(differences), counts / counts.sum(), size=DRAWS)
    return np.asarray(samples @ values / len(differences))


def _values(numbers: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return distinct numbers, up to rounding errors, and their counts."""
    values, counts = np.unique(np.round(numbers, 12), return_counts=True)
    return values, counts
