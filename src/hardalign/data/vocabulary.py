"""Symbols to ids and back, and batches of ids.

The four reserved ids have no spelling, so nothing is taken from the user: a file may contain
``<s>`` or ``[PAD]`` as text. Tags have ids of their own: the tag ``N`` and the letter ``N`` are two
symbols.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hardalign.data.formats import Example
from hardalign.data.text import Symbols, plural
from hardalign.errors import HardalignError

PAD, BEGIN, UNKNOWN, END = range(4)
"""Reserved ids, the same on the source and the target side."""
RESERVED = 4


@dataclass(frozen=True)
class Alphabet:
    """The symbols of one side, with ids from ``RESERVED`` on: first the letters, then the tags."""

    letters: Symbols
    tags: Symbols = ()

    @cached_property
    def letter_numbers(self) -> dict[str, int]:
        """The id of each letter."""
        return {letter: number for number, letter in enumerate(self.letters, RESERVED)}

    @cached_property
    def tag_numbers(self) -> dict[str, int]:
        """The id of each tag."""
        return {tag: n for n, tag in enumerate(self.tags, RESERVED + len(self.letters))}

    def __len__(self) -> int:
        """Return the number of ids, the reserved ones included."""
        return RESERVED + len(self.letters) + len(self.tags)

    def encode(
        self,
        letters: Sequence[str],
        tags: Sequence[str] = (),
        others: Mapping[str, int] | None = None,
    ) -> list[int]:
        """Return the ids of ``tags``, then of ``letters``; what was never seen is ``UNKNOWN``.

        ``others`` gives ids to letters that are not in this alphabet.
        """
        known = {**others, **self.letter_numbers} if others else self.letter_numbers
        ids = [self.tag_numbers.get(tag, UNKNOWN) for tag in tags]
        return ids + [known.get(letter, UNKNOWN) for letter in letters]

    def decode(self, ids: Iterable[int], oov: Symbols = ()) -> Symbols:
        """Return the letters of ids, none of them a tag's or a reserved one.

        Ids beyond the alphabet are those of ``oov``, in order.
        """
        letters = self.letters + oov
        return tuple(letters[number - RESERVED] for number in ids)

    def unknown(self, letters: Iterable[str], tags: Iterable[str] = ()) -> list[str]:
        """Return the symbols that are not in this alphabet."""
        missing = [tag for tag in tags if tag not in self.tag_numbers]
        return missing + [letter for letter in letters if letter not in self.letter_numbers]


@dataclass(frozen=True)
class Vocabulary:
    """Both alphabets of a model, taken from its training data alone."""

    source: Alphabet
    target: Alphabet

    @classmethod
    def of(cls, examples: Iterable[Example]) -> Vocabulary:
        """Collect the symbols of examples, in code-point order."""
        letters, tags, targets = set[str](), set[str](), set[str]()
        for example in examples:
            letters.update(example.source)
            tags.update(example.tags)
            targets.update(*example.targets)
        source = Alphabet(tuple(sorted(letters)), tuple(sorted(tags)))
        return cls(source, Alphabet(tuple(sorted(targets))))

    def encode_source(self, example: Example, others: Mapping[str, int] | None = None) -> list[int]:
        """Return the ids of begin, tags, letters and end; see ``Alphabet.encode``."""
        return [BEGIN, *self.source.encode(example.source, example.tags, others), END]

    def to_dict(self) -> dict[str, Any]:
        """Return the content for JSON."""
        return {
            "source": {"letters": list(self.source.letters), "tags": list(self.source.tags)},
            "target": {"letters": list(self.target.letters)},
        }

    @classmethod
    def from_dict(cls, values: Any) -> Vocabulary:
        """Rebuild what ``to_dict`` returned, or raise a ``HardalignError`` if it is damaged."""
        try:
            letters, tags = values["source"]["letters"], values["source"]["tags"]
            target = values["target"]["letters"]
        except (KeyError, TypeError) as error:
            raise HardalignError(f"not a vocabulary: {error!r} is missing or malformed") from error
        return cls(Alphabet(_symbols(letters), _symbols(tags)), Alphabet(_symbols(target)))


def _symbols(values: object) -> Symbols:
    """Require a list of distinct strings that can be encoded as UTF-8."""
    if type(values) is not list or not all(type(value) is str and value for value in values):
        raise HardalignError(f"not a vocabulary: not a list of symbols: {values!r:.100}")
    if len(set(values)) < len(values):
        raise HardalignError("not a vocabulary: a symbol is there twice")
    if any("\ud800" <= character <= "\udfff" for character in "".join(values)):
        raise HardalignError("not a vocabulary: a symbol has half a character")
    return tuple(values)


@dataclass(frozen=True, slots=True)
class Encoded:
    """One pair as ids."""

    source: list[int]
    """Begin, tags, letters, end."""
    tags: int
    """How many of them are tags."""
    target: list[int]
    """Letters, end; empty where the target is to be predicted."""
    oov: Symbols = ()
    """Out-of-vocabulary letters of the source that can be copied; see ``Indexer``."""


@dataclass(frozen=True)
class Indexer:
    """Turns examples into the ids that a model reads and writes.

    A letter that the source side has never seen is read as unknown. A model that copies can write
    it all the same. Its id in the source is then len(source) + t, where t is its id on the target
    side. If it is out of vocabulary there as well, t is one of the ids after those of the target
    side. These are counted anew for each word, so that t is len(target) for the first of each.
    """

    vocabulary: Vocabulary
    writes: Callable[[str], bool] | None = None
    """In models that copy unknown letters: whether a target may contain a letter."""

    def source(self, example: Example) -> Encoded:
        """Encode a source whose target is to be predicted."""
        return self._encode(example, None)

    def pair(self, pair: Example) -> Encoded:
        """Encode a pair of one source and one target."""
        return self._encode(pair, pair.targets[0])

    def oov_of(self, source: Symbols) -> Symbols:
        """Return the letters of a source that are in neither alphabet but can be written."""
        if self.writes is None:
            return ()
        unseen = self.vocabulary.target.unknown(self.vocabulary.source.unknown(source))
        return tuple(filter(self.writes, dict.fromkeys(unseen)))

    def unwritable(self, pair: Example) -> list[str]:
        """Return the letters of a pair's target that the model cannot write."""
        unknown = self.vocabulary.target.unknown(pair.targets[0])
        oov = self.oov_of(pair.source) if unknown else ()
        return [letter for letter in unknown if letter not in oov]

    def _encode(self, example: Example, target: Symbols | None) -> Encoded:
        source_side, target_side = self.vocabulary.source, self.vocabulary.target
        oov = self.oov_of(example.source)
        others = {letter: number for number, letter in enumerate(oov, len(target_side))}
        unknown = source_side.unknown(example.source) if self.writes else []
        numbered = zip(unknown, target_side.encode(unknown, others=others), strict=True)
        copied = {letter: len(source_side) + n for letter, n in numbered if n != UNKNOWN}
        source = self.vocabulary.encode_source(example, copied)
        written = [] if target is None else [*target_side.encode(target, others=others), END]
        return Encoded(source, len(example.tags), written, oov)


def shuffled_batches(
    pairs: Sequence[Encoded], batch_size: int, generator: random.Random
) -> list[list[Encoded]]:
    """Return every pair once, in batches of near-equal lengths, both in random order.

    Pairs are shuffled, then stably sorted by length: batch mates change from epoch to epoch, and
    only the few batches in which one length gives way to the next have any padding.
    """
    order = list(pairs)
    generator.shuffle(order)
    order.sort(key=lambda pair: (len(pair.source), len(pair.target)))
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    generator.shuffle(batches)
    return batches


def batches_by_symbols(lengths: Sequence[int], symbols: int) -> Iterator[list[int]]:
    """Yield indices of ``lengths`` in batches of similar length, at most ``symbols`` symbols each.

    For prediction and scoring, where the batch size affects only speed: many short words at a time,
    few long ones.
    """
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > symbols:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


class UnknownSymbols:
    """Counts source symbols that the model has never seen, to report them once, by name."""

    def __init__(self, alphabet: Alphabet) -> None:
        self._alphabet = alphabet
        self.counts: Counter[str] = Counter()

    def note(self, example: Example) -> None:
        """Count what is unknown in one example."""
        self.counts.update(self._alphabet.unknown(example.source, example.tags))

    def report(self) -> str | None:
        """Return one line for the user, or None if everything was known."""
        if not self.counts:
            return None
        seen = plural(self.counts.total(), "source symbol was", "source symbols were")
        return f"{seen} never seen in training and read as unknown: {symbol_counts(self.counts)}"


def symbol_counts(counts: Counter[str]) -> str:
    """Name the most frequent symbols, each with its count."""
    shown = ", ".join(f"{symbol!r} × {count}" for symbol, count in counts.most_common(20))
    more = len(counts) - 20
    return f"{shown} and {plural(more, 'other symbol', 'other symbols')}" if more > 0 else shown
