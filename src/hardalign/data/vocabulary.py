"""Symbols to numbers and back, and batches of them.

The four reserved numbers have no spelling, so nothing is taken from the user: a file may contain
``<s>`` or ``[PAD]`` as text. Tags are numbered apart from letters: the tag ``N`` and the letter
``N`` are two symbols.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from hardalign.data.formats import Example
from hardalign.data.text import Symbols, many
from hardalign.errors import HardalignError

PAD, BEGIN, UNKNOWN, END = range(4)
"""Reserved numbers, the same on the source and the target side."""
RESERVED = 4


@dataclass(frozen=True)
class Alphabet:
    """Holds one side's symbols, numbered from ``RESERVED`` on: first the letters, then the tags."""

    letters: Symbols
    tags: Symbols = ()

    @cached_property
    def letter_numbers(self) -> dict[str, int]:
        """The number of each letter."""
        return {letter: number for number, letter in enumerate(self.letters, RESERVED)}

    @cached_property
    def tag_numbers(self) -> dict[str, int]:
        """The number of each tag."""
        return {tag: n for n, tag in enumerate(self.tags, RESERVED + len(self.letters))}

    def __len__(self) -> int:
        """Returns how many numbers there are, the reserved ones included."""
        return RESERVED + len(self.letters) + len(self.tags)

    def encode(
        self,
        letters: Sequence[str],
        tags: Sequence[str] = (),
        others: Mapping[str, int] = MappingProxyType({}),
    ) -> list[int]:
        """Numbers ``tags``, then ``letters``; what was never seen becomes ``UNKNOWN``.

        But for ``others``, letters that are not in this alphabet and have numbers all the same.
        """
        tag_numbers, letter_numbers = self.tag_numbers, self.letter_numbers
        numbers = [tag_numbers.get(tag, UNKNOWN) for tag in tags]
        if others:
            letter_numbers = {**others, **letter_numbers}
        numbers += [letter_numbers.get(letter, UNKNOWN) for letter in letters]
        return numbers

    def decode(self, numbers: Iterable[int], strangers: Symbols = ()) -> Symbols:
        """Returns the letters of ``numbers``, which must not be those of tags or reserved ones.

        Numbers after those of this alphabet are those of ``strangers``.
        """
        letters = self.letters + strangers
        return tuple(letters[number - RESERVED] for number in numbers)

    def unknown(self, letters: Iterable[str], tags: Iterable[str] = ()) -> list[str]:
        """Returns the symbols that are not in this alphabet."""
        missing = [tag for tag in tags if tag not in self.tag_numbers]
        return missing + [letter for letter in letters if letter not in self.letter_numbers]


@dataclass(frozen=True)
class Vocabulary:
    """Holds both alphabets of a model, taken from its training data alone."""

    source: Alphabet
    target: Alphabet

    @classmethod
    def of(cls, examples: Iterable[Example]) -> Vocabulary:
        """Collects the symbols of ``examples`` in code-point order, so that it is reproducible."""
        letters, tags, targets = set[str](), set[str](), set[str]()
        for example in examples:
            letters.update(example.source)
            tags.update(example.tags)
            targets.update(*example.targets)
        source = Alphabet(tuple(sorted(letters)), tuple(sorted(tags)))
        return cls(source, Alphabet(tuple(sorted(targets))))

    def encode_source(
        self, example: Example, others: Mapping[str, int] = MappingProxyType({})
    ) -> list[int]:
        """Returns begin, tags, letters and end as numbers; see ``Alphabet.encode``."""
        return [BEGIN, *self.source.encode(example.source, example.tags, others), END]

    def to_dict(self) -> dict[str, Any]:
        """Returns the content as JSON can hold it."""
        return {
            "source": {"letters": list(self.source.letters), "tags": list(self.source.tags)},
            "target": {"letters": list(self.target.letters)},
        }

    @classmethod
    def from_dict(cls, values: Any) -> Vocabulary:
        """Takes back what ``to_dict`` gave, or raises a ``HardalignError`` if it is damaged."""
        try:
            letters, tags = values["source"]["letters"], values["source"]["tags"]
            target = values["target"]["letters"]
        except (KeyError, TypeError) as error:
            raise HardalignError(f"not a vocabulary: {error!r} is missing or malformed") from error
        return cls(Alphabet(_symbols(letters), _symbols(tags)), Alphabet(_symbols(target)))


def _symbols(values: object) -> Symbols:
    """Checks the symbols of a file: distinct strings that can be written."""
    if type(values) is not list or not all(type(value) is str and value for value in values):
        raise HardalignError(f"not a vocabulary: not a list of symbols: {values!r:.100}")
    if len(set(values)) < len(values):
        raise HardalignError("not a vocabulary: a symbol is there twice")
    if any("\ud800" <= character <= "\udfff" for character in "".join(values)):
        raise HardalignError("not a vocabulary: a symbol has half a character")
    return tuple(values)


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


class UnknownSymbols:
    """Counts source symbols that the model has never seen, to report them once, by name."""

    def __init__(self, alphabet: Alphabet) -> None:
        self._alphabet = alphabet
        self.counts: Counter[str] = Counter()

    def note(self, example: Example) -> None:
        """Counts what is unknown in one example."""
        self.counts.update(self._alphabet.unknown(example.source, example.tags))

    def report(self) -> str | None:
        """Returns one line for the user, or None if everything was known."""
        if not self.counts:
            return None
        return (
            f"{many(self.counts.total(), 'source symbol was', 'source symbols were')} never seen "
            f"in training and read as unknown: {symbol_counts(self.counts)}"
        )


def symbol_counts(counts: Counter[str]) -> str:
    """Names the commonest symbols, each with its count."""
    shown = ", ".join(f"{symbol!r} × {count}" for symbol, count in counts.most_common(20))
    more = len(counts) - 20
    return f"{shown} and {many(more, 'other symbol', 'other symbols')}" if more > 0 else shown
