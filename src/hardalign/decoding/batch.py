"""A batch of words, read once for all that is asked of it: strings, scores and alignments."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Protocol

import numpy as np

from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import END
from hardalign.decoding.history import Hypothesis
from hardalign.decoding.settings import MASS_BEAM_LIMIT, Search
from hardalign.decoding.walk import greedy, sample, uniform_noise
from hardalign.runtime.interface import Runtime
from hardalign.runtime.lattice import Lattice
from hardalign.runtime.numbers import Floats
from hardalign.runtime.words import Targets, Words

AnyRuntime = Runtime[Any, Any]

LATTICE_CELLS = 1 << 21
"""Source times target symbols of the strings that are followed together."""
TOLERANCE = 1e-6
"""Probability that a step of a search may leave out: about what float32 loses anyway."""
EXACT_TOLERANCE = 1e-9
"""The same for a greedy search whose scores must be exact. The symbol that it chooses has at least
the average one's probability, so that float32 loses more of it, and nothing is scored again. Of a
beam's symbols, which may be improbable, more would be lost: complete strings are scored again."""
FEW_SYMBOLS = 64
"""In a batch of so few source symbols a beam leaves nothing out: that takes less time than to score
its strings again."""
SAMPLES = 512
"""Strings drawn at a time, which bounds the memory that they take."""
MASS_BEAM = 8
"""Width of the first beam of a search for probability mass."""


@dataclass(frozen=True)
class Aligned:
    """The alignment of a pair, as numbers."""

    weights: Floats
    """[target symbols and end; begin, tags, source symbols, end]"""
    path: list[int]
    """The most probable alignment: a column of ``weights`` for each row."""


@dataclass(frozen=True)
class Answer:
    """A string for a word, and its alignment where that is wanted."""

    hypothesis: Hypothesis
    alignment: Aligned | None = None


class Scored(Protocol):
    """A string with its log-probability."""

    @property
    def log_prob(self) -> float: ...  # noqa: D102
    @property
    def finished(self) -> bool: ...  # noqa: D102


def covered(strings: Iterable[Scored]) -> list[float]:
    """Returns the probability that the model gives to each string and those before it together."""
    # What was cut off is no string that the model can produce.
    return list(accumulate(math.exp(s.log_prob) if s.finished else 0.0 for s in strings))


class Batch:
    """Source words of similar length that a model has read."""

    def __init__(self, runtime: AnyRuntime, sources: Sequence[Encoded]) -> None:
        self._runtime = runtime
        self._sources = sources
        self._words = Words.of(sources)
        self._memory = runtime.read(self._words)
        self._cut_beams = self._words.symbols.size > FEW_SYMBOLS

    def answers(
        self, search: Search, places: Sequence[int], exact: bool, alignments: bool
    ) -> list[list[Answer]]:
        """Returns the strings that a search finds for each word.

        Args:
            search: What to look for.
            places: Of the words in their file, on which samples depend.
            exact: Whether log-probabilities must be exact; else the search's own sums will do.
            alignments: Whether to align each string with its word.
        """
        lists = self._search(search, places, exact)
        if not alignments:
            return [[Answer(string) for string in strings] for strings in lists]
        owners = [word for word, strings in enumerate(lists) for _ in strings]
        targets = [[*string.symbols, END] for strings in lists for string in strings]
        aligned = self.align(owners, targets)
        return [[Answer(string, next(aligned)) for string in strings] for strings in lists]

    def scores(
        self, owners: Sequence[int], targets: Sequence[Sequence[int]]
    ) -> Iterator[list[float]]:
        """Yields log p(y_i | y_<i, x) of the symbols of targets, each of one of the words."""
        lattices = self._follow(owners, targets)
        rows = (row for lattice in lattices for row in lattice.log_probs().tolist())
        for row, target in zip(rows, targets, strict=True):
            yield row[: len(target)]

    def align(self, owners: Sequence[int], targets: Sequence[Sequence[int]]) -> Iterator[Aligned]:
        """Yields the alignments of targets, each with one of the words."""
        pairs = (
            pair
            for lattice in self._follow(owners, targets)
            for pair in zip(lattice.weights(), lattice.best_path().tolist(), strict=True)
        )
        for (weights, path), owner, target in zip(pairs, owners, targets, strict=True):
            rows, columns = len(target), len(self._sources[owner].source)
            yield Aligned(weights[:rows, :columns].astype(np.float64), path[:rows])

    def _search(self, search: Search, places: Sequence[int], exact: bool) -> list[list[Hypothesis]]:
        if search.mass is not None:
            return self._covering(search.mass)
        if search.samples is not None:
            return self._samples(search.samples, search.seed, places)
        every = np.arange(len(self._words))
        if search.width == 1:
            tolerance = EXACT_TOLERANCE if exact else TOLERANCE
            best = greedy(self._runtime, self._memory, self._words, every, tolerance)
            return [[string] for string in best]
        lists = self._beams(every.tolist(), search.width, search.keep)
        return self._rescored(every.tolist(), lists) if exact else lists

    def _beams(
        self, which: Sequence[int], width: int, keep: int, mass: float = 1.0
    ) -> list[list[Hypothesis]]:
        from hardalign.decoding.beam import beam_search  # which a greedy search does without

        return beam_search(
            self._runtime,
            self._memory,
            self._words,
            np.array(which),
            width,
            keep=keep,
            mass=mass,
            tolerance=TOLERANCE if self._cut_beams else 0.0,
        )

    def _samples(self, count: int, seed: int, places: Sequence[int]) -> list[list[Hypothesis]]:
        seeds = [(seed, place, k) for place in places for k in range(count)]
        which = np.repeat(np.arange(len(places)), count)
        strings: list[Hypothesis] = []
        for k in range(0, len(seeds), SAMPLES):
            some = which[k : k + SAMPLES]
            noise = uniform_noise(seeds[k : k + SAMPLES], self._words.lengths[some].tolist())
            strings += sample(self._runtime, self._memory, self._words, some, noise)
        return [strings[k : k + count] for k in range(0, len(strings), count)]

    def _covering(self, mass: float) -> list[list[Hypothesis]]:
        """Returns the shortest lists of some probability, from beams as narrow as possible."""
        covering: list[list[Hypothesis]] = [[] for _ in self._sources]
        pending, width = list(range(len(self._sources))), MASS_BEAM
        while pending:
            lists = self._rescored(pending, self._beams(pending, width, width, mass))
            for word, strings in zip(pending, lists, strict=True):
                covering[word] = strings[: bisect_left(covered(strings), mass) + 1]
            if width >= MASS_BEAM_LIMIT:
                break
            pending = [word for word in pending if covered(covering[word])[-1] < mass]
            width *= 2
        return covering

    def _rescored(
        self, which: Sequence[int], lists: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Returns the same strings of some words with exact log-probabilities, best first.

        A model whose strings have many paths keeps the sum over the paths that the search met.
        """
        if not self._cut_beams or self._runtime.silent >= 0:
            return lists
        finished = [
            (word, [*string.symbols, END])
            for word, strings in zip(which, lists, strict=True)
            for string in strings
            if string.finished
        ]
        scores = self.scores([word for word, _ in finished], [target for _, target in finished])
        exact = [
            [
                replace(string, log_prob=math.fsum(next(scores))) if string.finished else string
                for string in strings
            ]
            for strings in lists
        ]
        return [sorted(strings, key=lambda string: -string.log_prob) for strings in exact]

    def _follow(self, owners: Sequence[int], targets: Sequence[Sequence[int]]) -> Iterator[Lattice]:
        """Yields lattices that together hold all of some targets, in order."""
        width, start = self._words.symbols.shape[1], 0
        while start < len(targets):
            end, longest = start, 0
            while end < len(targets):
                longest = max(longest, len(targets[end]))
                if end > start and (end + 1 - start) * longest * width > LATTICE_CELLS:
                    break
                end += 1
            part = Targets.of(owners[start:end], targets[start:end])
            yield self._runtime.follow(self._memory, part)
            start = end
