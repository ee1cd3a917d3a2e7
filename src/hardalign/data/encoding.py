"""Examples as numbers, and how they are grouped into batches of similar length."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hardalign.data.example import Example, Symbols
from hardalign.data.vocabulary import END, Vocabulary


@dataclass(frozen=True, slots=True)
class Encoded:
    """Holds one pair as numbers."""

    source: list[int]
    """Begin, tags, letters, end."""
    tags: int
    """How many of them are tags."""
    target: list[int]
    """Letters, end; empty where the target is to be predicted."""
    strangers: Symbols = ()
    """The letters of the source that have numbers beyond the alphabets; see ``Numbering``."""


@dataclass(frozen=True)
class Numbering:
    """Turns examples into the numbers that a model reads and writes.

    A letter that was never seen is unknown. But a model that copies can write it all the same,
    where the source has it: a stranger. A stranger is in neither alphabet of the vocabulary, and
    has a number beyond those of each. They are counted anew in every word, so that the first
    stranger of each has the same two numbers, whatever letter it is.
    """

    vocabulary: Vocabulary
    strangers: int = 0
    """How many different strangers a word may have; other letters that were never seen are
    unknown."""

    def source(self, example: Example) -> Encoded:
        """Numbers a source whose target is to be predicted."""
        return self._encoded(example, None)

    def pair(self, pair: Example) -> Encoded:
        """Numbers a pair of one source and one target."""
        return self._encoded(pair, pair.targets[0])

    def strangers_of(self, source: Symbols) -> Symbols:
        """Returns the letters of a source that have numbers beyond the alphabets, in order."""
        if not self.strangers:
            return ()
        unseen = self.vocabulary.target.unknown(self.vocabulary.source.unknown(source))
        return tuple(dict.fromkeys(unseen))[: self.strangers]

    def unwritable(self, pair: Example) -> list[str]:
        """Returns the letters of a pair's target that no model with this numbering can write."""
        strangers = self.strangers_of(pair.source)
        unknown = self.vocabulary.target.unknown(pair.targets[0])
        return [letter for letter in unknown if letter not in strangers]

    def _encoded(self, example: Example, target: Symbols | None) -> Encoded:
        vocabulary, strangers = self.vocabulary, self.strangers_of(example.source)
        source = vocabulary.encode_source(example, strangers)
        written = []
        if target is not None:
            written = [*vocabulary.target.encode(target, strangers=strangers), END]
        return Encoded(source, len(example.tags), written, strangers)


def shuffled_batches(
    pairs: Sequence[Encoded], batch_size: int, generator: random.Random
) -> list[list[Encoded]]:
    """Returns every pair once, in batches of near-equal lengths, both in random order.

    Pairs are shuffled, then stably sorted by length: mates change from epoch to epoch, and only
    the few batches where one length gives way to the next hold any padding.
    """
    order = list(pairs)
    generator.shuffle(order)
    order.sort(key=lambda pair: (len(pair.source), len(pair.target)))
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    generator.shuffle(batches)
    return batches


def batches_by_symbols(lengths: Sequence[int], symbols: int) -> Iterator[list[int]]:
    """Gives positions of ``lengths`` in batches of similar length, ``symbols`` symbols at most.

    For prediction and scoring, where the batch size changes nothing but speed: short words come
    many at a time, long ones few.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    batch: list[int] = []
    for position in order:
        if batch and (len(batch) + 1) * lengths[position] > symbols:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch
