"""Examples as numbers, and how they are grouped into batches of similar length."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hardalign.data.example import Example
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


def encode_pair(pair: Example, vocabulary: Vocabulary) -> Encoded:
    """Numbers a pair of one source and one target."""
    target = [*vocabulary.target.encode(pair.targets[0]), END]
    return Encoded(vocabulary.encode_source(pair), len(pair.tags), target)


def encode_source(example: Example, vocabulary: Vocabulary) -> Encoded:
    """Numbers a source whose target is to be predicted."""
    return Encoded(vocabulary.encode_source(example), len(example.tags), [])


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
