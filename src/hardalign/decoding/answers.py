"""What a search finds for many words: best strings, enough strings, or samples, with scores."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Protocol

from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import END
from hardalign.decoding import MASS_BEAM_LIMIT, Hypothesis, Search, beam_search, noise, sample
from hardalign.decoding.batches import device_of, in_batches, log_likelihoods, predictions
from hardalign.networks.batch import collate
from hardalign.networks.transducer import Transducer

MASS_BEAM = 8
"""Width of the first beam of a search for probability mass."""


def answers(
    model: Transducer, sources: Sequence[Encoded], search: Search, first: int = 0
) -> list[list[Hypothesis]]:
    """What a search finds for each source: best first, or samples in the order drawn.

    Args:
        model: The model.
        sources: Words to transduce.
        search: What to look for.
        first: The place of the first word in its file, which the words' samples depend on.
    """
    if search.mass is not None:
        return _covering(model, sources, search.mass)
    if search.samples is not None:
        found = _samples(model, sources, search.samples, search.seed, first)
        return rescored(model, sources, found) if search.rescore else found
    if search.width == 1:
        found = [[best] for best in predictions(model, sources)]
    else:
        found = _beams(model, sources, search.width, search.keep)
    return _ranked(rescored(model, sources, found)) if search.rescore else found


def _beams(
    model: Transducer, sources: Sequence[Encoded], width: int, keep: int, mass: float = 1.0
) -> list[list[Hypothesis]]:
    def search(positions: list[int]) -> list[list[Hypothesis]]:
        batch = collate([sources[k] for k in positions])
        return beam_search(model, batch.to(device_of(model)), width, keep, mass)

    return in_batches(search, [width * len(source.source) for source in sources])


def _covering(model: Transducer, sources: Sequence[Encoded], mass: float) -> list[list[Hypothesis]]:
    """The shortest lists of some probability, from the narrowest beams that find them."""
    found: list[list[Hypothesis]] = [[] for _ in sources]
    pending, width = list(range(len(sources))), MASS_BEAM
    while pending:
        words = [sources[k] for k in pending]
        lists = _ranked(rescored(model, words, _beams(model, words, width, width, mass)))
        for k, strings in zip(pending, lists, strict=True):
            found[k] = strings[: bisect_left(covered(strings), mass) + 1]
        if width >= MASS_BEAM_LIMIT:
            break
        pending = [k for k in pending if covered(found[k])[-1] < mass]
        width *= 2
    return found


class Scored(Protocol):
    """A string with its log-probability."""

    @property
    def log_prob(self) -> float: ...  # noqa: D102
    @property
    def finished(self) -> bool: ...  # noqa: D102


def covered(strings: Iterable[Scored]) -> list[float]:
    """The probability that the model gives to each string and those before it together."""
    # What was cut off is no string that the model can produce.
    return list(accumulate(math.exp(s.log_prob) if s.finished else 0.0 for s in strings))


def _samples(
    model: Transducer, sources: Sequence[Encoded], count: int, seed: int, first: int
) -> list[list[Hypothesis]]:
    def draw(positions: list[int]) -> list[Hypothesis]:
        batch = collate([sources[k // count] for k in positions]).to(device_of(model))
        seeds = [(seed, first + k // count, k % count) for k in positions]
        return sample(model, batch, noise(seeds, batch))

    lengths = [len(source.source) for source in sources for _ in range(count)]
    drawn = iter(in_batches(draw, lengths))
    return [[next(drawn) for _ in range(count)] for _ in sources]


def rescored(
    model: Transducer, sources: Sequence[Encoded], found: list[list[Hypothesis]]
) -> list[list[Hypothesis]]:
    """The same strings with their log-likelihoods, as scoring gives them."""
    if model.silent >= 0:  # scoring knows one path, the search may have added up several
        return found
    pairs = [
        replace(source, target=[*string.symbols, END])
        for source, strings in zip(sources, found, strict=True)
        for string in strings
        if string.finished
    ]
    scores = iter(log_likelihoods(model, pairs))
    return [
        [
            replace(string, log_prob=next(scores)) if string.finished else string
            for string in strings
        ]
        for strings in found
    ]


def _ranked(found: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
    return [sorted(strings, key=lambda string: -string.log_prob) for strings in found]
