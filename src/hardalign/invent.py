"""Invented examples, so that a network learns more from few: seen parts in unseen wholes.

Examples with tags, as those of inflection are, get stems that nobody has heard of. Where lemma and
form share a stretch of at least three symbols, as an aligner sees them, all within the stretch but
its first and last symbol is replaced, on both sides alike:

    walk  walked  V;PST      →      wolutk  wolutked  V;PST

so that it is learned which affix a tag asks for, and that a stem is copied whatever it is
(Anastasopoulos & Neubig 2019; Silfverberg & al. 2017). Examples without tags are recombined
(``hardalign.recombine``).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from hardalign import aligner
from hardalign.data.example import Example, Symbols, training_pairs
from hardalign.errors import HardalignError
from hardalign.recombine import Recombination

SHORTEST = 3
"""Symbols that a stretch must have."""
KEPT = 3.0
"""What a kept symbol adds to the score of an alignment, in nats."""
UNIGRAMS = 0.5
"""The share of symbols that are drawn without regard to the symbol before."""


@dataclass(frozen=True)
class Stretch:
    """Symbols that are the same on both sides, from where on, and how many."""

    source: int
    target: int
    length: int


def invent(examples: Sequence[Example], count: int, seed: int) -> list[Example]:
    """Returns so many invented examples, the same whenever the arguments are.

    Raises:
        HardalignError: If the examples have nothing in common to invent others from.
    """
    if not count:
        return []
    pairs = list(training_pairs(examples))
    paths = _paths(pairs)
    draw = random.Random(f"invent {seed}")
    if any(pair.tags for pair in pairs):
        stems = _Stems(pairs, paths)
        return [stems.draw(draw) for _ in range(count)]
    recombination = Recombination(pairs, paths)
    return [recombination.draw(draw) for _ in range(count)]


def _paths(pairs: Sequence[Example]) -> list[aligner.Path]:
    """Returns the alignments of pairs, by an aligner that has learned from them."""
    sides = [(pair.source, pair.targets[0]) for pair in pairs]
    numbers = {symbol: n for n, symbol in enumerate(sorted({s for x, y in sides for s in x + y}))}
    numbered = [([numbers[s] for s in x], [numbers[s] for s in y]) for x, y in sides]
    table = aligner.fit(numbered, len(numbers), len(numbers))
    # Few pairs do not teach an aligner that a symbol is most often kept.
    table[np.diag_indices_from(table)] += KEPT
    return aligner.align(table, numbered)


class _Stems:
    """Draws examples whose affixes and tags are those of a pair, and whose stems are not."""

    def __init__(self, pairs: Sequence[Example], paths: Sequence[aligner.Path]) -> None:
        stretches = [
            (pair, _common(path, pair.source, pair.targets[0]))
            for pair, path in zip(pairs, paths, strict=True)
        ]
        self._places = [(pair, own) for pair, own in stretches if own]
        if not self._places:
            raise HardalignError(
                "cannot invent examples: no source shares three symbols in a row with its target, "
                "as lemma and form of an inflection do; leave it out"
            )
        self._language = _Language(
            [
                pair.source[stretch.source : stretch.source + stretch.length]
                for pair, own in self._places
                for stretch in own
            ]
        )

    def draw(self, draw: random.Random) -> Example:
        """Returns one example."""
        pair, stretches = draw.choice(self._places)
        source, target = pair.source, pair.targets[0]
        for stretch in reversed(stretches):  # from the right, so that places stay what they are
            inside = self._language.inside(source[stretch.source], draw)
            source = _replaced(source, stretch.source, stretch.length, inside)
            target = _replaced(target, stretch.target, stretch.length, inside)
        return replace(pair, source=source, targets=(target,), text="", line=0)


def _replaced(symbols: Symbols, start: int, length: int, inside: Symbols) -> Symbols:
    return symbols[: start + 1] + inside + symbols[start + length - 1 :]


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

    def __init__(self, stems: Sequence[Symbols]) -> None:
        self._lengths = [len(stem) - 2 for stem in stems]
        self._symbols = [symbol for stem in stems for symbol in stem]
        self._after: defaultdict[str, list[str]] = defaultdict(list)
        for stem in stems:
            for before, symbol in pairwise(stem):
                self._after[before].append(symbol)

    def inside(self, before: str, draw: random.Random) -> Symbols:
        """Draws the inside of a stem after its first symbol."""
        symbols: list[str] = []
        for _ in range(draw.choice(self._lengths)):
            followers = self._after.get(before)
            known = followers and draw.random() >= UNIGRAMS
            before = draw.choice(followers if known and followers else self._symbols)
            symbols.append(before)
        return tuple(symbols)
