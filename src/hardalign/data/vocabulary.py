"""Vocabularies, batches of ids, and out-of-vocabulary symbols.

The four reserved ids have no spelling, so a file may contain ``<s>`` or ``[PAD]`` as text. Tags
have ids of their own: the tag ``N`` and the letter ``N`` are two symbols.
"""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hardalign.data.formats import Example
from hardalign.data.text import Symbols, plural
from hardalign.errors import HardalignError

PAD, BEGIN, UNKNOWN, END = range(4)  # reserved ids, the same on the source and the target side
RESERVED = 4
LENGTH_LIMIT = 4
"""Maximum length of a prediction, as a multiple of its source with begin and end."""
APOSTROPHES, HYPHENS = "'’ʼ＇´`", "-‐‑"
"""Interchangeable marks: one that the model does not have is read as one that it has, or dropped
if there is none, since they have no sound of their own."""
INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"  # soft hyphen, and zero-width joiners and spaces
PLAIN: dict[int, str | None] = {
    **{ord(mark): APOSTROPHES[0] for mark in APOSTROPHES},
    **{ord(mark): HYPHENS[0] for mark in HYPHENS},
    **dict.fromkeys(map(ord, INVISIBLE)),
}
"""For ``str.translate``: one apostrophe, one hyphen, nothing invisible."""
LIKE = dict(
    pair.split(":") for pair in ("ß:ss", "æ:ae", "œ:oe", "ø:o", "ð:d", "þ:th", "ł:l", "đ:d", "ı:i")
)
"""Letters that no normal form decomposes, and what they are read as."""


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
        """Return the ids of ``tags``, then of ``letters``; unseen ones are ``UNKNOWN``.

        ``others`` gives ids to letters that are not in this alphabet.
        """
        known = {**others, **self.letter_numbers} if others else self.letter_numbers
        ids = [self.tag_numbers.get(tag, UNKNOWN) for tag in tags]
        return ids + [known.get(letter, UNKNOWN) for letter in letters]

    def decode(self, ids: Iterable[int], oov: Symbols = ()) -> Symbols:
        """Return the letters of ids, none of which may be reserved or a tag's.

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
    """The source and target alphabets of a model, from its training data only."""

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
        raise HardalignError("not a vocabulary: a symbol occurs twice")
    if any("\ud800" <= character <= "\udfff" for character in "".join(values)):
        raise HardalignError("not a vocabulary: a symbol has half a character")
    return tuple(values)


@dataclass(frozen=True, slots=True)
class Encoded:
    """One pair as ids."""

    source: list[int]  # begin, tags, letters, end
    tags: int  # how many of them are tags
    target: list[int]  # letters, end; empty for prediction
    oov: Symbols = ()  # out-of-vocabulary letters of the source that can be copied; see Indexer


@dataclass(frozen=True)
class Indexer:
    """Turns examples into the ids that a model reads and writes.

    Letters unseen on the source side are read as unknown. A model that copies can still write them:
    their source id is then len(source) + t, where t is the id on the target side. Letters that are
    out of vocabulary there as well are numbered from t = len(target) on, anew for each word.
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
    """Return all pairs in batches of similar length, in random order.

    Pairs are shuffled, then stably sorted by length: batch mates change from epoch to epoch, and
    only the few batches that mix lengths have any padding.
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


def unknown_symbols(counts: Counter[str]) -> str | None:
    """Return a one-line message about unknown source symbols, or None if there are none."""
    if not counts:
        return None
    seen = plural(counts.total(), "source symbol was", "source symbols were")
    return f"{seen} never seen in training and read as unknown: {symbol_counts(counts)}"


def symbol_counts(counts: Counter[str]) -> str:
    """List the most frequent symbols with their counts."""
    shown = ", ".join(f"{symbol!r} × {count}" for symbol, count in counts.most_common(20))
    more = len(counts) - 20
    return f"{shown} and {plural(more, 'other symbol', 'other symbols')}" if more > 0 else shown


@dataclass
class Folding:
    """Replaces letters that a model does not have by similar ones that it has, and counts them."""

    alphabet: Alphabet
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each letter was read as which others."""

    def fold(self, symbols: Symbols, partly: bool = False) -> Symbols | None:
        """Return a word in the model's letters, or None if a letter has no replacement.

        ``partly`` keeps such letters as they are.

        A letter that the model does not have is decomposed (ﬁ is read as fi), stripped of its marks
        (é as e), replaced according to ``LIKE`` (ß as ss), or lower-cased: the first that the model
        has. All apostrophes are interchangeable, and all hyphens; these changes are not counted.
        """
        folded: list[str] = []
        changes = []
        for symbol in symbols:
            marks = next((marks for marks in (APOSTROPHES, HYPHENS) if symbol in marks), "")
            letters = self._folded(symbol, marks)
            if letters is None and not partly:
                return None
            if letters is None:
                letters = (symbol,)
            if letters != (symbol,) and not (letters and set(letters) <= set(marks)):
                changes.append((symbol, "".join(letters)))
            folded += letters
        self.changes.update(changes if folded else ())
        return tuple(folded) or None

    def _folded(self, symbol: str, marks: str) -> Symbols | None:
        parts = unicodedata.normalize("NFKD", symbol)
        # Without accents, dots and the like; empty if it is only a mark.
        plain = "".join(part for part in parts if unicodedata.category(part)[0] != "M")
        lower, whole = symbol.lower(), unicodedata.normalize("NFKC", symbol)
        small = lower, whole.lower(), plain.lower(), LIKE.get(lower, lower)
        likes = *marks, whole, plain, LIKE.get(symbol, symbol), *small, _hiragana(symbol)
        for letters in ((symbol,), *map(tuple, likes)):
            if letters and not self.alphabet.unknown(letters):
                return letters
        return () if marks or not plain else None

    def remark(self) -> str | None:
        """Return one line for the user, or None if nothing was changed."""
        if not self.changes:
            return None
        changes = self.changes.most_common(20)
        shown = ", ".join(f"{one} as {other or 'nothing'} × {n}" for (one, other), n in changes)
        more = f" and {len(self.changes) - 20} more" if len(self.changes) > 20 else ""
        return f"letters that the model does not have were read as others: {shown}{more}"


def _hiragana(symbol: str) -> str:
    """Return a katakana letter as hiragana."""
    return chr(ord(symbol) - 0x60) if len(symbol) == 1 and "ァ" <= symbol <= "ヶ" else symbol


def trimmed(source: Symbols, alphabet: Alphabet) -> Symbols:
    """Strip white space around a source, unless the model has it as symbols."""
    if not any(map(str.isspace, source[:1] + source[-1:])):
        return source
    letters = [k for k, s in enumerate(source) if not s.isspace() or not alphabet.unknown([s])]
    return source[letters[0] : letters[-1] + 1] if letters else source
