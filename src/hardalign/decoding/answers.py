"""Answers to streams of words and pairs, in batches, in constant memory and in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import END, UNKNOWN
from hardalign.decoding.batch import Aligned, Answer, AnyRuntime, Batch
from hardalign.decoding.history import Hypothesis
from hardalign.decoding.settings import Search
from hardalign.decoding.stream import in_batches
from hardalign.runtime.numbers import Floats, Ints, logsumexp
from hardalign.runtime.words import Targets, Words

Result = TypeVar("Result")

WINDOW = 8192
"""Answers held at a time, so that words of similar length can share a batch."""
BATCH_SYMBOLS = 3072
"""Source symbols in a batch, padding included; a beam counts each for every two hypotheses. With
more, memory grows and speed does not; with fewer, threads wait for each other's Python."""
PARTICLES = 256
"""Particles of a pair that are followed at a time, which bounds the memory that they take."""
BATCH_CELLS = 1 << 22
"""Source symbols of a batch times target symbols of the alphabet: large ones make small batches."""


def answer(
    runtime: AnyRuntime,
    sources: Iterable[Encoded],
    search: Search,
    *,
    exact: bool = True,
    alignments: bool = False,
    threads: int = 1,
) -> Iterator[list[Answer]]:
    """Yields the strings that a search finds for each word: best first, or samples as drawn.

    Args:
        runtime: The model.
        sources: Words, as many as there are.
        search: What to look for.
        exact: Whether log-probabilities must be exact; else the search's own sums will do.
        alignments: Whether to align each string with its word.
        threads: How many batches to work on at a time.
    """

    def work(batch: Sequence[Encoded], places: Sequence[int]) -> list[list[Answer]]:
        return Batch(runtime, batch).answers(search, places, exact, alignments)

    return in_batches(
        work,
        sources,
        lambda source: (search.width + 1) // 2 * len(source.source),
        window=max(1, WINDOW // search.most),
        symbols=_batch_symbols(runtime),
        threads=threads,
    )


def predictions(runtime: AnyRuntime, sources: Iterable[Encoded]) -> list[Hypothesis]:
    """Returns the greedy prediction for each word."""
    return [best.hypothesis for (best,) in answer(runtime, sources, Search(), exact=False)]


def symbol_scores(
    runtime: AnyRuntime, pairs: Iterable[Encoded], threads: int = 1
) -> Iterator[list[float]]:
    """Yields log p(y_i | y_<i, x) of each pair's target symbols, the end included.

    From the first symbol on that the model cannot spell, it is −inf.
    """

    def work(batch: Sequence[Encoded]) -> Iterator[list[float]]:
        spellable = [_spellable(pair) for pair in batch]
        targets = [pair.target for pair in spellable]
        rows = Batch(runtime, batch).scores(range(len(batch)), targets)
        for row, pair, cut in zip(rows, batch, spellable, strict=True):
            known = row if cut is pair else row[:-1]  # the end of what was cut is not its end
            yield known + [-math.inf] * (len(pair.target) - len(known))

    return _in_pairs(runtime, work, pairs, threads)


def log_likelihoods(runtime: AnyRuntime, pairs: Iterable[Encoded]) -> list[float]:
    """Returns log p(y | x) of each pair; −inf where the model cannot spell the target."""
    return [math.fsum(scores) for scores in symbol_scores(runtime, pairs)]


def align(runtime: AnyRuntime, pairs: Iterable[Encoded], threads: int = 1) -> Iterator[Aligned]:
    """Yields the alignment of each pair, whose target the model must be able to spell."""

    def work(batch: Sequence[Encoded]) -> Iterator[Aligned]:
        return Batch(runtime, batch).align(range(len(batch)), [pair.target for pair in batch])

    return _in_pairs(runtime, work, pairs, threads)


def sample_alignments(runtime: AnyRuntime, pair: Encoded, noise: Floats) -> Ints:
    """Draws alignments of a pair from p(a | x, y).

    Args:
        runtime: The model.
        pair: Source and target.
        noise: [target symbols and end, S] independent and uniform in [0, 1).

    Returns:
        [target symbols and end, S] source positions, begin and tags included.

    Raises:
        HardalignError: If the system has no distribution over alignments.
    """
    memory, targets = runtime.read(Words.of([pair])), Targets.of([0], [pair.target])
    return np.asarray(runtime.follow(memory, targets).samples(noise[None])[0])


def estimate(runtime: AnyRuntime, pair: Encoded, particles: int, seed: Sequence[int]) -> float:
    """Returns log p(y | x) of a pair as a number of particles estimate it; −inf as above.

    Args:
        runtime: The model.
        pair: Source and target.
        particles: The mean of their weights is an unbiased estimate of p(y | x).
        seed: The same numbers give the same estimate.
    """
    if UNKNOWN in pair.target:
        return -math.inf
    memory, targets = runtime.read(Words.of([pair])), Targets.of([0], [pair.target])
    random = np.random.default_rng(seed)
    estimates = []
    for start in range(0, particles, PARTICLES):
        count = min(PARTICLES, particles - start)
        (value,) = runtime.estimate(memory, targets, random.random((1, len(pair.target), count)))
        estimates.append(float(value) + math.log(count / particles))
    return float(logsumexp(np.array(estimates)))


def _in_pairs(
    runtime: AnyRuntime,
    work: Callable[[Sequence[Encoded]], Iterator[Result]],
    pairs: Iterable[Encoded],
    threads: int,
) -> Iterator[Result]:
    return in_batches(
        lambda batch, _places: list(work(batch)),
        pairs,
        lambda pair: max(len(pair.source), len(pair.target)),
        window=WINDOW,
        symbols=_batch_symbols(runtime),
        threads=threads,
    )


def _batch_symbols(runtime: AnyRuntime) -> int:
    return max(1, min(BATCH_SYMBOLS, BATCH_CELLS // runtime.symbols))


def _spellable(pair: Encoded) -> Encoded:
    """Returns the pair up to the first target symbol that the model has never seen."""
    if UNKNOWN not in pair.target:
        return pair
    return replace(pair, target=[*pair.target[: pair.target.index(UNKNOWN)], END])
