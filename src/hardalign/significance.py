"""Is one system better than another, or did it just happen to suit these test words?

Both systems answered the same items, so each item gives one paired difference.

- *Approximate randomisation* (p): if the systems were alike, the sign of each difference would be
  arbitrary. How often is the mean difference as large as observed when all signs are random?
- *Paired bootstrap* (interval): the middle 95% of the means of resampled sets of items.
- *Wilcoxon's signed-rank test*: paired over data sets, one difference each; exact.

With several data sets the statistic of the first two is the mean over data sets of their mean
differences (each counts the same, as in the paper's averages), and items are drawn within their own
data set. The differences take few distinct values, so counts are drawn instead of items: the
distribution is the same, and the cost does not grow with the number of items.

None of these tests knows about other seeds.
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
    """The 95% interval of the difference."""
    data_sets: int
    items: int


def compare(differences: Sequence[Floats]) -> Comparison:
    """Test differences of paired items.

    Args:
        differences: For each data set the differences of its items, first system minus second.
    """
    if not differences or any(len(items) == 0 for items in differences):
        raise ValueError("nothing to compare: a data set without items")
    difference = float(np.mean([items.mean() for items in differences]))
    # Two generators, so that p does not depend on which system comes first.
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
    """Compare several pairs that are reported together, with p corrected by ``holm``."""
    tests = {key: compare(data_sets) for key, data_sets in differences.items()}
    corrected = holm({key: test.p for key, test in tests.items()})
    return {key: (test, corrected[key]) for key, test in tests.items()}


def holm(values: Mapping[K, float]) -> dict[K, float]:
    """Correct the p values of tests that are made together by Holm's method.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    adjusted, largest = {}, 0.0
    for rank, test in enumerate(sorted(values, key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[test]))
        adjusted[test] = largest
    return adjusted


def wilcoxon(differences: Sequence[float]) -> float:
    """Return p of Wilcoxon's signed-rank test, two-sided and exact; zeros are left out.

    >>> wilcoxon([1.0, 2.0, 3.0, 4.0])
    0.125
    """
    values = np.round([value for value in differences if round(value, 9) != 0], 9)
    sizes = np.abs(values)
    # Twice the mean rank of ties, so that ranks are integers.
    ranks = [int((sizes < size).sum() + (sizes <= size).sum()) + 1 for size in sizes]
    counts = np.ones(1)  # of all assignments of signs, by the sum of the positive ranks
    for rank in ranks:
        counts = np.pad(counts, (0, rank)) + np.pad(counts, (rank, 0))
    positive = sum(rank for rank, value in zip(ranks, values, strict=True) if value > 0)
    smaller = min(positive, sum(ranks) - positive)
    return min(1.0, float(2 * counts[: smaller + 1].sum() / counts.sum()))


def _flipped_means(differences: Floats, random: np.random.Generator) -> Floats:
    """Return means with all signs drawn at random, [DRAWS]."""
    sizes, counts = _values(np.abs(differences[differences != 0]))
    positive = random.binomial(counts, 0.5, size=(DRAWS, len(counts)))
    return np.asarray((2 * positive - counts) @ sizes / len(differences))


def _resampled_means(differences: Floats, random: np.random.Generator) -> Floats:
    """Return means of items drawn with replacement, [DRAWS]."""
    values, counts = _values(differences)
    samples = random.multinomial(len(differences), counts / counts.sum(), size=DRAWS)
    return np.asarray(samples @ values / len(differences))


def _values(numbers: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the distinct numbers and how often each occurs; 1/3 - 1/3 and 2/3 - 2/3 are one."""
    values, counts = np.unique(np.round(numbers, 12), return_counts=True)
    return values, counts
