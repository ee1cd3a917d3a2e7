"""Invented examples for inflection: the affixes of real ones around stems that nobody has heard of.

Where lemma and form share a stretch of at least three symbols, as an aligner sees them, all within
the stretch but its first and last symbol is replaced, on both sides alike:

    walk  walked  V;PST      →      wolutk  wolutked  V;PST

so that a network learns from few examples which affix a tag asks for, and that a stem is copied
whatever it is (Anastasopoulos & Neubig 2019; Silfverberg & al. 2017). Where there
are few inventions for each pair, those with rare tags are drawn more often: their affixes are what
few examples teach least.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from hardalign import aligner
from hardalign.data.formats import Example, training_pairs
from hardalign.data.text import Symbols
from hardalign.errors import HardalignError

SHORTEST = 3
"""Symbols that a stretch must have."""
KEPT = 3.0
"""What a kept symbol adds to the score of an alignment, in nats."""
PLENTY = 10
"""With so many inventions for each pair, rare tags have enough of them, and all are drawn alike."""
RARE = 10
"""What is added to how often a tag occurs, so that what occurs once is not drawn all the time."""
UNIGRAMS = 0.5
"""The share of symbols that are drawn without regard to the symbol before."""


class Stretch(NamedTuple):
    """Symbols that are the same on both sides, from where on, and how many."""

    source: int
    target: int
    length: int


def hallucinate(examples: Sequence[Example], count: int, seed: int) -> list[Example]:
    """Return so many invented examples, the same whenever the arguments are."""
    if not count:
        return []
    pairs = list(training_pairs(examples))
    places = [(pair, stretches) for pair, stretches in _stretches(pairs) if stretches]
    if not places:
        raise HardalignError(
            "cannot invent examples: no source shares three symbols in a row with its target, "
            "as lemma and form of an inflection do; leave it out"
        )
    stems = [pair.source[s.source : s.source + s.length] for pair, own in places for s in own]
    language = _Language(stems, random.Random(f"invent {seed}"))
    if count >= PLENTY * len(places):
        return [_hallucinated(*language.draw.choice(places), language) for _ in range(count)]
    weights = list(accumulate(_weights([pair.tags for pair, _ in places])))
    drawn = (language.draw.choices(places, cum_weights=weights)[0] for _ in range(count))
    return [_hallucinated(*place, language) for place in drawn]


def _weights(tags: Sequence[Symbols]) -> list[float]:
    """Returns how often to draw each pair, by the inverse root of its rarest tag's count."""
    counts = Counter(tag for own in tags for tag in own)
    return [(RARE + min((counts[tag] for tag in own), default=0)) ** -0.5 for own in tags]


def _hallucinated(pair: Example, stretches: list[Stretch], language: _Language) -> Example:
    source, target = pair.source, pair.targets[0]
    for j, i, length in reversed(stretches):  # from the right, so that places stay what they are
        inside = language.inside(source[j])
        source = source[: j + 1] + inside + source[j + length - 1 :]
        target = target[: i + 1] + inside + target[i + length - 1 :]
    return replace(pair, source=source, targets=(target,), text="", line=0)


def _stretches(pairs: Sequence[Example]) -> list[tuple[Example, list[Stretch]]]:
    """Returns pairs with their stretches, by an aligner that has learned from the pairs."""
    sides = [(pair.source, pair.targets[0]) for pair in pairs]
    numbers = {symbol: n for n, symbol in enumerate(sorted({s for x, y in sides for s in x + y}))}
    numbered = [([numbers[s] for s in x], [numbers[s] for s in y]) for x, y in sides]
    table = aligner.fit(numbered, len(numbers), len(numbers))
    # Few pairs do not teach an aligner that a symbol is most often kept.
    table[np.diag_indices_from(table)] += KEPT
    paths = aligner.align(table, numbered)
    return [(pair, _common(path, *s)) for pair, path, s in zip(pairs, paths, sides, strict=True)]


def _common(path: aligner.Path, source: Symbols, target: Symbols) -> list[Stretch]:
    """Returns the stretches of a path on which nothing changes."""
    stretches, length = [], 0
    for j, i in [*path, (None, None)]:
        if j is not None and i is not None and source[j] == target[i]:
            length, last = length + 1, (j, i)
        else:
            if length >= SHORTEST:
                stretches.append(Stretch(last[0] - length + 1, last[1] - length + 1, length))
            length = 0
    return stretches


class _Language:
    """How stems of some language look: the lengths of their insides, and which symbol follows."""

    def __init__(self, stems: Sequence[Symbols], draw: random.Random) -> None:
        self.draw = draw
        self._lengths = [len(stem) - 2 for stem in stems]
        self._symbols = [symbol for stem in stems for symbol in stem]
        self._after: defaultdict[str, list[str]] = defaultdict(list)
        for stem in stems:
            for before, symbol in pairwise(stem):
                self._after[before].append(symbol)

    def inside(self, before: str) -> Symbols:
        """Draws the inside of a stem after its first symbol."""
        symbols: list[str] = []
        for _ in range(self.draw.choice(self._lengths)):
            followers = self._after.get(before)
            if not followers or self.draw.random() < UNIGRAMS:
                followers = self._symbols
            before = self.draw.choice(followers)
            symbols.append(before)
        return tuple(symbols)
