"""Examples and file formats: the columns of a line, and how each is cut into symbols."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from hardalign.data.text import (
    CASES,
    NORMALIZATIONS,
    Symbols,
    lower,
    normalize,
    part,
    segment,
    shorten,
    unite,
)
from hardalign.errors import HardalignError
from hardalign.files import build_record

COLUMNS = ("source", "target", "tags", "-")  # what a column may hold; - is ignored
MAX_SYMBOL = 100
"""Maximum characters of a symbol: a longer one was not cut where it should have been."""
_SYLLABLE = re.compile("[\uac00-\ud7a3]")


@dataclass(frozen=True, slots=True)
class Example:
    """One source with its references: several in NEWS, none for prediction."""

    source: Symbols
    targets: tuple[Symbols, ...] = ()
    tags: Symbols = ()
    text: str = ""
    """The source as spelt in the file, for output."""
    line: int = 0
    """Line number in the file, from 1."""

    @property
    def key(self) -> tuple[Symbols, Symbols]:
        """What the model sees: examples with the same key ask the same question."""
        return self.tags, self.source


@dataclass(frozen=True)
class Format:
    """The columns of a file, and how each is cut into symbols.

    For another layout, adapt one of the ``FORMATS`` with ``dataclasses.replace``.

    >>> FORMATS["lexicon"].target_symbols("AE1 K SH AH0 N")
    ('AE1', 'K', 'SH', 'AH0', 'N')
    """

    name: str
    columns: tuple[str, ...] = ("source", "target")
    source_separator: str = ""
    """``""`` makes every character (code point, once normalised) a symbol."""
    target_separator: str = ""
    tag_separator: str = ";"
    normalization: str = "NFC"
    source_case: str = "keep"
    """``"lower"`` lower-cases sources."""
    target_parts: bool = False
    """Whether multi-character target symbols, such as ``tʰ``, are split into characters. Without a
    separator, each symbol is one character anyway."""
    max_length: int = 1000
    """In symbols; longer strings are refused, as the cost of a word is quadratic in its length."""

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise HardalignError(problem)

    def _problems(self) -> Iterator[str]:
        count, columns = Counter(self.columns), ",".join(self.columns)
        if unknown := [column for column in self.columns if column not in COLUMNS]:
            yield f"unknown column {unknown[0]!r} in {columns!r}; choose from {', '.join(COLUMNS)}"
        if count["source"] != 1 or count["target"] > 1 or count["tags"] > 1:
            yield f"the columns {columns!r} need exactly one source and at most one target and tags"
        if self.is_xml and self.columns != ("source", "target"):
            yield "the news format is XML and has no columns to name"
        if (form := self.normalization) not in NORMALIZATIONS:
            yield f"unknown normalization {form!r}; choose one of {', '.join(NORMALIZATIONS)}"
        if self.source_case not in CASES:
            yield f"unknown source case {self.source_case!r}; choose one of {', '.join(CASES)}"
        if self.max_length < 1:
            yield f"the maximum length must be at least 1, not {self.max_length}"
        for separator in (self.source_separator, self.target_separator, self.tag_separator):
            if any(character in separator for character in "\t\r\n"):
                rule = "TAB separates columns, a line end lines"
                yield f"a separator of symbols cannot contain {separator!r}: {rule}"
            if normalize(separator, form) != separator:
                advice = "choose another separator or another normalization"
                yield f"the separator {separator!r} does not survive normalization {form}; {advice}"
        separator = self.source_separator
        if self.source_case == "lower" and lower(separator, form) != separator:
            yield f"the separator {separator!r} does not survive in lower case; choose another"

    @property
    def treatment(self) -> str:
        """A description of how text is normalised and cut."""
        cased = ", sources in lower case" if self.source_case == "lower" else ""
        parted = ", target symbols in characters" if self._parts else ""
        return f"{self.normalization}{cased}{parted}"

    @property
    def is_xml(self) -> bool:
        """Whether files are NEWS XML rather than lines of TAB-separated columns."""
        return self.name == "news"

    def source_symbols(self, text: str) -> Symbols:
        """Normalise a source and cut it into symbols; white space alone has none."""
        return self._symbols(text, self.source_separator, "source", self.source_case)

    def target_symbols(self, text: str) -> Symbols:
        """Normalise a target and cut it into symbols; white space alone has none."""
        symbols = self._symbols(text, self.target_separator, "target")
        return part(symbols) if self._parts else symbols

    def writes(self, symbol: str) -> bool:
        """Whether a target can contain a symbol: among others, it must survive a round trip."""
        text = self.target_separator.join(("a", symbol, "a"))
        try:
            symbols = self.target_symbols(text)
        except HardalignError:
            return False
        return symbols == ("a", symbol, "a") and not set("\t\n\r") & set(symbol)

    def tag_symbols(self, text: str) -> Symbols:
        """Normalise and split a list of tags, stripping spaces around each."""
        pieces = self._symbols(text, self.tag_separator, "list of tags")
        tags = tuple(tag.strip() for tag in pieces)
        if "" in tags:
            raise HardalignError(f"an empty tag in {shorten(text)}; remove the extra separator")
        return tags

    def source_example(self, text: str) -> Example:
        """Parse a source to be predicted, ``lemma<TAB>TAG;TAG`` in formats with tags."""
        fields = _string(text, "source").split("\t")
        tagged = "tags" in self.columns
        if len(fields) != 1 + tagged:
            expected = "lemma<TAB>TAG;TAG" if tagged else "one source without TABs"
            raise HardalignError(f"{text!r} should be {expected}")
        source = self.source_symbols(fields[0])
        if not source:
            raise HardalignError(f"nothing to predict: the source {text!r} has no symbols")
        return Example(source, tags=self.tag_symbols(fields[1]) if tagged else (), text=fields[0])

    def join_source(self, symbols: Symbols) -> str:
        """Join the symbols of a source into text, with decomposed characters recomposed."""
        return self.source_separator.join(self._whole(symbols, self.source_separator))

    def join_target(self, symbols: Symbols) -> str:
        """Join the symbols of a target into text, with decomposed characters recomposed."""
        return self.target_separator.join(self.counted(symbols))

    def counted(self, symbols: Symbols) -> Symbols:
        """Return a target in whole symbols, as metrics count it, even if the model splits them."""
        return self._whole(unite(symbols) if self._parts else symbols, self.target_separator)

    @property
    def _parts(self) -> bool:
        return self.target_parts and bool(self.target_separator)

    def _whole(self, symbols: Symbols, separator: str) -> Symbols:
        """Recompose what NFD took apart: jamo become syllables."""
        if self.normalization not in ("NFD", "NFKD"):
            return symbols
        if separator:  # each symbol stays one
            return tuple(unicodedata.normalize("NFC", symbol) for symbol in symbols)
        return tuple(unicodedata.normalize("NFC", "".join(symbols)))

    def to_dict(self) -> dict[str, object]:
        """Return the content for JSON."""
        return {**asdict(self), "columns": list(self.columns)}

    @classmethod
    def from_dict(cls, values: object) -> Format:
        """Rebuild what ``to_dict`` returned; what later versions added may be missing."""
        return build_record(cls, values, "the format")

    def _symbols(self, text: str, separator: str, what: str, case: str = "keep") -> Symbols:
        if not _string(text, what) or text.isspace():
            return ()
        limit, advice = self.max_length, "shorten it, or raise the limit with max_length"
        # Checked before anything else: a line may have millions of characters.
        if len(text) > limit * (MAX_SYMBOL + len(separator)):
            size = f"{len(text)} characters, more than a string of {limit} symbols can have"
            raise HardalignError(f"the {what} {shorten(text, 20)} has {size}; {advice}")
        read = lower if case == "lower" else normalize
        symbols = segment(read(text, self.normalization), separator)
        if len(symbols) > limit:
            size = f"{len(symbols)} symbols, more than the limit of {limit}"
            raise HardalignError(f"the {what} {shorten(text, 20)} has {size}; {advice}")
        if separator and len(longest := max(symbols, key=len)) > MAX_SYMBOL:
            raise HardalignError(
                f"the {what} has a symbol of {len(longest)} characters, {shorten(longest, 20)}, "
                f"more than the limit of {MAX_SYMBOL}; is it cut at the right separator?"
            )
        return symbols


def _string(text: str, what: str) -> str:
    if not isinstance(text, str):
        raise HardalignError(f"a {what} must be a string, not {text!r:.50}")
    return text


def changed(text_format: Format, settings: Mapping[str, Any]) -> Format:
    """Override settings of a format unless None; ``columns`` is one string such as target,-."""
    given = {name: value for name, value in settings.items() if value is not None}
    if "columns" in given:
        given["columns"] = tuple(given["columns"].split(","))
    return replace(text_format, **given)


def as_read_by(model: Format, text_format: Format) -> Format:
    """Return a file's format with the normalisation that a model was trained with."""
    names = ("normalization", "source_case", "target_parts")
    return replace(text_format, **{name: getattr(model, name) for name in names})


def recut(example: Example, old: Format, new: Format) -> Example:
    """Convert an example from one format to another."""
    targets = tuple(new.target_symbols(old.join_target(one)) for one in example.targets)
    return replace(
        example, source=new.source_symbols(old.join_source(example.source)), targets=targets
    )


def in_letters(text_format: Format, examples: Sequence[Example]) -> Format:
    """Return a format that decomposes Hangul syllables into letters, if most words have them.

    There are 11,172 syllables, most of them rare, made of 67 letters.
    """
    sides = (
        (text_format.source_separator, [one.source for one in examples]),
        (text_format.target_separator, [one for pair in examples for one in pair.targets]),
    )
    for separator, strings in sides:
        hangul = sum(bool(_SYLLABLE.search("".join(one))) for one in strings)
        if text_format.normalization == "NFC" and not separator and 2 * hangul > len(strings):
            return replace(text_format, normalization="NFD")
    return text_format


_FORMATS = (
    Format("pairs"),
    Format("lexicon", target_separator=" "),
    Format("spaced", source_separator=" ", target_separator=" "),
    Format("sigmorphon", columns=("source", "target", "tags")),
    Format("news"),
)
FORMATS = {entry.name: entry for entry in _FORMATS}
"""The formats by name."""


def find_format(name: str) -> Format:
    """Return a format by its name."""
    if name not in FORMATS:
        raise HardalignError(f"no format is called {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def training_pairs(examples: Iterable[Example]) -> Iterator[Example]:
    """Yield one example per target, for training."""
    for example in examples:
        for target in example.targets:
            yield replace(example, targets=(target,))


def evaluation_items(examples: Iterable[Example]) -> list[Example]:
    """Merge the references of examples with the same key, in order of first appearance."""
    merged: dict[tuple[Symbols, Symbols], Example] = {}
    for example in examples:
        first = merged.setdefault(example.key, example)
        targets = dict.fromkeys(first.targets + example.targets)
        merged[example.key] = replace(first, targets=tuple(targets))
    return list(merged.values())
