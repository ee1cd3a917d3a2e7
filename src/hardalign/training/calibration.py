"""One temperature for a model, so that its probabilities are as large as it is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hardalign.data.encoding import Encoded, batches_by_symbols
from hardalign.runtime.interface import Runtime
from hardalign.runtime.numbers import Floats, Ints, logsumexp, unwarned
from hardalign.runtime.tempered import taken
from hardalign.runtime.words import Targets, Words

RANGE = (0.2, 5.0)
"""The lowest and the highest temperature that may come out."""
PRECISION = 1e-4
"""Of 1 / T."""
BATCH_SYMBOLS = 4096
MOST_NUMBERS = 1 << 26
"""So many log-probabilities are enough to fit one number, and few enough to hold."""


def fit_temperature(runtime: Runtime[Any, Any], pairs: Sequence[Encoded]) -> float:
    """Returns the temperature at which given pairs are most probable; 1 if there are none.

    Their log-likelihood is concave in 1 / T, so that golden-section search finds its maximum. The
    distributions of all steps are computed once.
    """
    if not pairs:
        return 1.0
    log_probs, columns = _steps(runtime, pairs)
    chosen = log_probs[np.arange(len(columns)), columns]
    if not np.isfinite(chosen).all():
        return 1.0  # no temperature makes what is impossible any more probable

    def loss(inverse: float) -> float:
        return float((logsumexp(log_probs * inverse) - chosen * inverse).sum(dtype=np.float64))

    low, high = RANGE
    return 1 / _lowest(loss, 1 / high, 1 / low)


@unwarned
def _steps(runtime: Runtime[Any, Any], pairs: Sequence[Encoded]) -> tuple[Floats, Ints]:
    """Returns log-probabilities [steps, V] along the pairs, and what came next [steps]."""
    distributions: list[Floats] = []
    columns: list[Ints] = []
    numbers = 0
    lengths = [max(len(pair.source), len(pair.target)) for pair in pairs]
    for places in _spread(list(batches_by_symbols(lengths, BATCH_SYMBOLS))):
        batch = [pairs[place] for place in places]
        memory = runtime.read(Words.of(batch))
        targets = Targets.of(range(len(batch)), [pair.target for pair in batch])
        for step in taken(runtime, memory, targets):
            distributions.append(step.log_probs)
            columns.append(step.column)
            numbers += step.log_probs.size
        if numbers > MOST_NUMBERS:
            break
    return np.concatenate(distributions), np.concatenate(columns)


def _spread(batches: list[list[int]]) -> list[list[int]]:
    """Returns batches, which come sorted by length, in an order of which any part has all."""
    return [batch for first in range(4) for batch in batches[first::4]]


def _lowest(function: Callable[[float], float], low: float, high: float) -> float:
    """Returns where a function with one valley between two numbers is lowest."""
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > PRECISION:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = function(right)
    return (low + high) / 2
