"""Temperature scaling, fitted on the development set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hardalign.data.text import Symbols
from hardalign.data.vocabulary import END, Encoded, Vocabulary, batches_by_symbols
from hardalign.search import predictions
from hardalign.systems.ensemble import steps_along
from hardalign.systems.lattice import quiet
from hardalign.systems.model import Answering, Targets, Words
from hardalign.systems.ops.numpy import Floats, Ints, logsumexp, pad_columns

RANGE = (0.2, 5.0)
"""The lowest and the highest temperature that may come out."""
PRECISION = 1e-4
"""Of 1 / T."""
FEW = 10
"""With fewer right answers than this, or fewer wrong ones, the likelihood decides."""
SURE = 1e-12
"""As near as the log-probability of a wrong answer may come to 0."""
BATCH_SYMBOLS = 4096
MOST_NUMBERS = 1 << 26
"""So many log-probabilities are enough to fit one number, and few enough to hold."""


def fit_temperature(
    runtime: Answering,
    words: Sequence[tuple[Encoded, tuple[Symbols, ...]]],
    pairs: Sequence[Encoded],
    vocabulary: Vocabulary,
) -> float:
    """Return the temperature at which a model's confidence fits its accuracy best.

    There the probabilities of its answers to the development words, which come with their
    references, tell best which are right, by their logarithmic score. If hardly any is right or
    wrong, it is where the development pairs are most probable; 1 if there are none.
    """
    answers, correct = [], []
    hypotheses = predictions(runtime, [source for source, _ in words])
    for (source, references), best in zip(words, hypotheses, strict=True):
        if best.finished:
            answers.append(replace(source, target=[*best.symbols, END]))
            correct.append(vocabulary.target.decode(best.symbols, source.oov) in references)
    right = np.array(correct, bool)

    def log_score(log_probs: Floats) -> float:
        wrong = np.minimum(log_probs[~right], -SURE)
        return float(log_probs[right].sum() + np.log(-np.expm1(wrong)).sum())

    if min(right.sum(), (~right).sum()) >= FEW:
        return _fit(runtime, answers, log_score)
    return _fit(runtime, pairs, np.sum)


def _fit(runtime: Answering, pairs: Sequence[Encoded], score: Callable[[Floats], float]) -> float:
    """Return the temperature at which the log-probabilities of given pairs score highest."""
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
    return 1 / _minimum(loss, 1 / high, 1 / low)


@quiet
def _steps(runtime: Answering, pairs: Sequence[Encoded]) -> tuple[Floats, Ints, Ints]:
    """Return log-probabilities [steps, V] along pairs, what came next, and of which pair it is."""
    distributions: list[Floats] = []
    columns: list[Ints] = []
    owners: list[Ints] = []
    lengths = [max(len(pair.source), len(pair.target)) for pair in pairs]
    batches = list(batches_by_symbols(lengths, BATCH_SYMBOLS))  # sorted by length
    for places in (batch for first in range(4) for batch in batches[first::4]):
        batch = [pairs[place] for place in places]
        memory = runtime.read(Words.of(batch))
        targets = Targets.of(range(len(batch)), [pair.target for pair in batch])
        for step in steps_along(runtime, memory, targets):
            distributions.append(step.log_probs)
            columns.append(step.column)
            owners.append(np.array(places)[step.target])
        if sum(one.size for one in distributions) > MOST_NUMBERS:
            break
    most = max(one.shape[1] for one in distributions)
    log_probs = np.concatenate([pad_columns(one, most) for one in distributions])
    return log_probs, np.concatenate(columns), np.concatenate(owners)


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one valley between two numbers is lowest: golden section."""
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
