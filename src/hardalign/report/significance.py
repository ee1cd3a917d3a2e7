"""Is one system better than another, or did the test words just happen to suit it?

Both systems answered the same items, so an item contributes one number: how much better the first
did on it. Two questions are asked of these differences.

- *Approximate randomisation*: were the systems alike, each difference might as well have the other
  sign. How often is the mean difference as large as ours when all signs are drawn at random? That
  share is p.
- *Paired bootstrap*: how would the mean difference vary over other sets of items like these? The
  middle 95% of the means of resampled sets are the interval.

Where several data sets are compared at once, the statistic is the mean over data sets of their mean
differences: each counts the same, as in the paper's averages, and items are drawn within their own.

The differences take few distinct values (-1, 0 and 1 for one run each), and only how many of each
are drawn matters. So counts are drawn, not items: the distribution is the same, the cost does not
grow with the number of items.

Neither test knows of training: they tell about other words, not about other seeds. For that the
accuracies of runs are compared, by *Welch's t-test* of the same statistic: were the systems alike,
how often would the seeds alone make such a difference?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000
SEED = 0
LEVEL = 0.05
"""Differences with a smaller p are called significant."""
TEST = f"approximate randomisation over items, two-sided, {DRAWS:,} draws, seed {SEED}"
SEED_TEST = f"Welch's t over runs, two-sided, {DRAWS:,} draws, seed {SEED}"
INTERVAL = f"paired bootstrap, 95% percentile interval, {DRAWS:,} draws, seed {SEED}"

Floats = NDArray[np.float64]
K = TypeVar("K")


@dataclass(frozen=True)
class Comparison:
    """How much better one system is than another on the same items."""

    difference: float
    """Mean over data sets of the mean difference of their items."""
    p: float
    """Probability of a difference at least as large if the systems were alike."""
    low: float
    high: float
    """The interval that holds 95% of the resampled differences."""
    data_sets: int
    items: int


def compare(differences: Sequence[Floats]) -> Comparison:
    """Tests differences of paired items.

    Args:
        differences: For each data set the differences of its items, first system minus second.
    """
    if not differences or any(len(items) == 0 for items in differences):
        raise ValueError("nothing to compare: a data set without items")
    difference = float(np.mean([items.mean() for items in differences]))
    # Apart, so that p does not depend on which system is called the first.
    signs, samples = np.random.default_rng(SEED), np.random.default_rng(SEED)
    flipped, resampled = np.zeros(DRAWS), np.zeros(DRAWS)
    for items in differences:
        flipped += _flipped_means(items, signs)
        resampled += _resampled_means(items, samples)
    # A draw that equals the observed difference must count, whatever the rounding of its sum.
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
    """Makes tests that belong together, each by ``compare``, and corrects their p by ``holm``."""
    tests = {key: compare(data_sets) for key, data_sets in differences.items()}
    corrected = holm({key: test.p for key, test in tests.items()})
    return {key: (test, corrected[key]) for key, test in tests.items()}


@dataclass(frozen=True)
class SeedComparison:
    """How much better one system is than another, run for run."""

    difference: float
    """Mean over data sets of the difference of the mean accuracies."""
    p: float
    """Probability of a difference at least as large if only the seeds differed."""


def compare_seeds(data_sets: Sequence[tuple[Sequence[float], Sequence[float]]]) -> SeedComparison:
    """Tests whether a difference would hold for other seeds.

    Args:
        data_sets: For each the accuracies of the runs of the first system, then of the second, at
            least two of both.
    """
    difference = variance = shares = 0.0
    for runs in data_sets:
        for sign, accuracies in zip((1, -1), runs, strict=True):
            count = len(accuracies)
            share = float(np.var(accuracies, ddof=1)) / count / len(data_sets) ** 2
            difference += sign * float(np.mean(accuracies)) / len(data_sets)
            variance += share
            shares += share**2 / (count - 1)
    if variance == 0:  # all seeds did the same
        return SeedComparison(difference, 1.0 if difference == 0 else 1 / (1 + DRAWS))
    freedom = variance**2 / shares
    by_chance = np.random.default_rng(SEED).standard_t(freedom, DRAWS)
    as_large = np.abs(by_chance) >= abs(difference) / np.sqrt(variance)
    return SeedComparison(difference, float((1 + as_large.sum()) / (1 + DRAWS)))


def holm(values: Mapping[K, float]) -> dict[K, float]:
    """Raises the p of tests that were made together, so that the level holds for all of them.

    Holm's method: the chance that *any* of the differences called significant is none stays below
    the level.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    adjusted, largest = {}, 0.0
    for rank, test in enumerate(sorted(values, key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[test]))
        adjusted[test] = largest
    return adjusted


def _flipped_means(differences: Floats, random: np.random.Generator) -> Floats:
    """Returns means with all signs drawn at random, [DRAWS]."""
    sizes, counts = _values(np.abs(differences[differences != 0]))
    positive = random.binomial(counts, 0.5, size=(DRAWS, len(counts)))
    return np.asarray((2 * positive - counts) @ sizes / len(differences))


def _resampled_means(differences: Floats, random: np.random.Generator) -> Floats:
    """Returns means of items drawn with replacement, [DRAWS]."""
    values, counts = _values(differences)
    samples = random.multinomial(len(differences), counts / counts.sum(), size=DRAWS)
    return np.asarray(samples @ values / len(differences))


def _values(numbers: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Returns the distinct numbers and how often each occurs.

    Rounded first: 1/3 - 1/3 and 2/3 - 2/3 are to be one number.
    """
    values, counts = np.unique(np.round(numbers, 12), return_counts=True)
    return values, counts
