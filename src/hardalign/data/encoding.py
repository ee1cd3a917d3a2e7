"""Examples as numbers, and how they are grouped into batches of similar length."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hardalign.data.example import Example, Symbols
from hardalign.data.vocabulary import END, UNKNOWN, Vocabulary


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
    """Letters of the source that are in neither alphabet, but can be written; see ``Numbering``."""


@dataclass(frozen=True)
class Numbering:
    """Turns examples into the numbers that a model reads and writes.

    A letter that the source side has never seen is unknown, and is read as such. But a model that
    copies can write it all the same. There it has the number that it has on the target side, after
    all numbers of the source side: len(source) + t. If the target side has never seen it either, it
    is a stranger, and t is one of the numbers after those of the target side. Strangers are counted
    anew in every word, so that t is len(target) for the first of each, whatever letter it is.
    """

    vocabulary: Vocabulary
    writes: Callable[[str], bool] | None = None
    """Says which letters a target may have, in models that copy letters that are unknown."""

    def source(self, example: Example) -> Encoded:
        """Numbers a source whose target is to be predicted."""
        return self._encoded(example, None)

    def pair(self, pair: Example) -> Encoded:
        """Numbers a pair of one source and one target."""
        return self._encoded(pair, pair.targets[0])

    def strangers_of(self, source: Symbols) -> Symbols:
        """Returns the letters of a source that are in neither alphabet, but can be written."""
        if self.writes is None:
            return ()
        unseen = self.vocabulary.target.unknown(self.vocabulary.source.unknown(source))
        return tuple(filter(self.writes, dict.fromkeys(unseen)))

    def unwritable(self, pair: Example) -> list[str]:
        """Returns the letters of a pair's target that the model cannot write."""
        unknown = self.vocabulary.target.unknown(pair.targets[0])
        strangers = self.strangers_of(pair.source) if unknown else ()
        return [letter for letter in unknown if letter not in strangers]

    def _encoded(self, example: Example, target: Symbols | None) -> Encoded:
        source_side, target_side = self.vocabulary.source, self.vocabulary.target
        strangers = self.strangers_of(example.source)
        others = {letter: number for number, letter in enumerate(strangers, len(target_side))}
        unknown = source_side.unknown(example.source) if self.writes else ()
        numbers = target_side.encode(unknown, others=others)
        copied = {
            letter: len(source_side) + number
            for letter, number in zip(unknown, numbers, strict=True)
            if number != UNKNOWN
        }
        source = self.vocabulary.encode_source(example, copied)
        written = [] if target is None else [*target_side.encode(target, others=others), END]
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
