"""Temperature scaling, fitted on the development set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hardalign.data.vocabulary import END, Encoded, Vocabulary, batches_by_symbols
from hardalign.search import predictions
from hardalign.systems.batch import Targets, Words
from hardalign.systems.ensemble import steps_along
from hardalign.systems.lattice import quiet
from hardalign.systems.model import Answering
from hardalign.systems.ops.numpy import Floats, Ints, logsumexp, pad_columns
from hardalign.training.run import Development

RANGE = (0.2, 5.0)
"""The lowest and the highest temperature that may come out."""
PRECISION = 1e-4
"""Of 1 / T."""
FEW = 10
"""With fewer right answers than this, or fewer wrong ones, there is nothing to tell apart."""
SURE = 1e-12
"""As near as a log-probability may come to 0, so that a wrong answer's is not hopeless."""
BATCH_SYMBOLS = 4096
MOST_NUMBERS = 1 << 26
"""So many log-probabilities are enough to fit one number, and few enough to hold."""


def fit_temperature(runtime: Answering, development: Development, vocabulary: Vocabulary) -> float:
    """Returns the temperature at which a model's confidence fits its accuracy best.

    That is where the probabilities of its answers to the development set tell best, by their
    logarithmic score, which of them are right. If hardly any is right or wrong, it is where the
    pairs themselves are most probable; 1 if there are none.
    """
    answers, right = [], []
    hypotheses = predictions(runtime, development.sources)
    items = zip(development.sources, development.references, hypotheses, strict=True)
    for source, references, best in items:
        if best.finished:
            answers.append(replace(source, target=[*best.symbols, END]))
            answer = vocabulary.target.decode(best.symbols, source.oov)
            right.append(answer in references)
    if min(right.count(True), right.count(False)) >= FEW:
        return _fit(runtime, answers, partial(_judged, np.array(right)))
    return _fit(runtime, development.pairs, np.sum)


def _judged(right: NDArray[np.bool_], log_probs: Floats) -> float:
    """Returns how probable it is that so confident answers are right and wrong as they are."""
    wrong = np.minimum(log_probs[~right], -SURE)
    return float(log_probs[right].sum() + np.log(-np.expm1(wrong)).sum())


def _fit(runtime: Answering, pairs: Sequence[Encoded], score: Callable[[Floats], float]) -> float:
    """Returns the temperature at which the log-probabilities of given pairs score highest.

    The distributions of all steps are computed once.
    """
    if not pairs:
        return 1.0
    log_probs, columns, owners = _steps(runtime, pairs)
    chosen = log_probs[np.arange(len(columns)), columns]
    if not np.isfinite(chosen).all():
        return 1.0  # no temperature makes what is impossible any more probable

    def loss(inverse: float) -> float:
        steps = chosen * inverse - logsumexp(log_probs * inverse)
        # Pairs that were left out have probability 1 at any temperature, and so decide nothing.
        return -score(np.bincount(owners, steps, len(pairs)))

    low, high = RANGE
    return 1 / _lowest(loss, 1 / high, 1 / low)


@quiet
def _steps(runtime: Answering, pairs: Sequence[Encoded]) -> tuple[Floats, Ints, Ints]:
    """Returns log-probabilities [steps, V] along pairs, what came next, and of which pair it is."""
    distributions: list[Floats] = []
    columns: list[Ints] = []
    owners: list[Ints] = []
    numbers = 0
    lengths = [max(len(pair.source), len(pair.target)) for pair in pairs]
    for places in _spread(list(batches_by_symbols(lengths, BATCH_SYMBOLS))):
        batch = [pairs[place] for place in places]
        memory = runtime.read(Words.of(batch))
        targets = Targets.of(range(len(batch)), [pair.target for pair in batch])
        for step in steps_along(runtime, memory, targets):
            distributions.append(step.log_probs)
            columns.append(step.column)
            owners.append(np.array(places)[step.target])
            numbers += step.log_probs.size
        if numbers > MOST_NUMBERS:
            break
    most = max(one.shape[1] for one in distributions)
    log_probs = np.concatenate([pad_columns(one, most) for one in distributions])
    return log_probs, np.concatenate(columns), np.concatenate(owners)


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
