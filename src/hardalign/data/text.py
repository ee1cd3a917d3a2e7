"""Strings to symbols and back: Unicode normalisation, segmentation, and what symbols look like."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from hardalign.errors import HardalignError

Symbols = tuple[str, ...]
"""A string cut into its symbols: characters, phonemes, or whatever the format says."""

NORMALIZATIONS = ("NFC", "NFD", "NFKC", "NFKD", "none")
"""The Unicode normal forms a format may ask for."""
CASES = ("keep", "lower")
"""What a format may do with the capitals of a source."""
MAX_MARKS = 32
"""Most combining marks in a row. Real text has fewer than ten, and normalising takes time that is
quadratic in them: half an hour for a megabyte of marks in the wrong order."""

# Marks are not \w, except two halfwidth ones that NFKC turns into marks.
_MARKS = re.compile(rf"[\W\uff9e\uff9f]{{{MAX_MARKS + 1},}}")


def normalize(text: str, form: str) -> str:
    """Return text in a Unicode normal form; ``"none"`` leaves it as it is.

    The same word can be written with different code points (é is one or two). After normalisation
    it has one spelling, so that a model sees the same symbols in training and in use.
    """
    if text.isascii():
        return text
    for stretch in _MARKS.finditer(text):
        marks = 0
        for character in stretch[0]:
            is_mark = character in "\uff9e\uff9f" or unicodedata.category(character)[0] == "M"
            marks = marks + 1 if is_mark else 0
            if marks > MAX_MARKS:
                raise HardalignError(
                    f"{shorten(text, 20)} has more than {MAX_MARKS} combining marks in a row; "
                    "remove them"
                )
    return text if form == "none" else unicodedata.normalize(form, text)  # type: ignore[arg-type]


def lower(text: str, form: str) -> str:
    """Returns ``text`` in small letters, in a Unicode normal form.

    It is normalised before, since that may make capitals of other characters, and after, since a
    small letter may be spelt with more code points than its capital.
    """
    return normalize(normalize(text, form).lower(), form)


def segment(text: str, separator: str) -> Symbols:
    """Cut ``text`` into symbols; the empty string has none.

    The separator ``""`` makes every code point a symbol. ``" "`` cuts at blanks, of which there may
    be several, also at the ends. Any other one cuts where it stands, and must be between symbols.
    """
    if separator == "":
        return tuple(text)
    symbols = text.split(separator)
    if separator == " " or text == "":
        return tuple(filter(None, symbols))
    if "" in symbols:
        raise HardalignError(
            f"{shorten(text)} has an empty symbol beside a separator {separator!r}; "
            "remove the extra separator or choose another one"
        )
    return tuple(symbols)


def compose(symbols: Symbols, separator: str) -> Symbols:
    """Puts characters together again that normalisation took apart: jamo become syllables.

    Where a separator parts symbols, each stays one symbol; else every character is one.
    """
    if separator:
        return tuple(unicodedata.normalize("NFC", symbol) for symbol in symbols)
    return tuple(unicodedata.normalize("NFC", "".join(symbols)))


PART = "+"
"""Stands before each character of a parted symbol but its first; no whole character has two."""


def part(symbols: Symbols) -> Symbols:
    """Takes symbols apart into their characters.

    >>> part(("tʰ", "aː", "n"))
    ('t', '+ʰ', 'a', '+ː', 'n')
    """
    return tuple(
        PART + character if place else character
        for symbol in symbols
        for place, character in enumerate(symbol)
    )


def unite(parts: Symbols) -> Symbols:
    """Puts symbols together again that ``part`` took apart; a part without a beginning begins."""
    symbols: list[str] = []
    for one in parts:
        if len(one) > 1 and symbols:
            symbols[-1] += one[1:]
        else:
            symbols.append(one[-1])
    return tuple(symbols)


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def printable(text: str) -> str:
    """Returns ``text`` as a terminal may show it: control characters but TAB and LF as escapes."""
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def shorten(text: str, limit: int = 40) -> str:
    """Shows ``text`` in an error message: quoted, on one line and not too long."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def plural(count: int, one: str, more: str) -> str:
    """Count things for a message: 1 word was, 2 words were."""
    return f"{count} {one if count == 1 else more}"


_GROUPS = (
    # Latin letters with their twins in Cyrillic and Greek
    *("AАΑ", "BВΒ", "CС", "EЕΕ", "HНΗ", "IІΙ", "JЈ", "KКΚ", "MМΜ", "NΝ", "OОΟ", "PРΡ", "SЅ"),
    *("TТΤ", "XХΧ", "YУΥ", "ZΖ", "aаα", "cсϲ", "eе", "hһ", "iіι", "jј", "oоοօ", "pрρ", "sѕ"),
    *("xх", "yу", "vν", "uυ", "kκĸ", "nո"),
    # letters of the phonetic alphabet with what is typed instead; not those of its own (x and χ)
    *("gɡ", "əǝ", "ɛεє", "βßꞵ", "θѳ", "ʃ∫", ":ː", "!ǃ", "ɪı", "ʒӡ", "φɸ", "ŋη"),
    # punctuation
    *("'’‘ʼʹ′`´ˈ", '"“”„″', "-‐‑‒–—−", ",‚", ".․", "|ǀ", "…⋯", "/⁄∕"),
)
_TWIN = {ord(twin): group[0] for group in _GROUPS for twin in group[1:]}


def look_alikes(symbols: Iterable[str]) -> list[Symbols]:
    """Returns the groups of symbols that a reader may take for one another.

    >>> look_alikes(["a", "b", "а"])  # the last is Cyrillic
    [('a', 'а')]
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for symbol in sorted(set(symbols)):
        groups[symbol.translate(_TWIN)].append(symbol)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def is_invisible(symbol: str) -> bool:
    """Says whether a symbol shows nothing: white space other than the blank, or a control."""
    kinds = {unicodedata.category(character) for character in symbol}
    return symbol != " " and kinds <= {"Zs", "Zl", "Zp", "Cc", "Cf"}


def describe(symbol: str) -> str:
    """Names a symbol by its code points where its looks do not tell it from others."""
    points = " ".join(f"U+{ord(character):04X}" for character in symbol)
    if is_invisible(symbol):
        return points
    name = unicodedata.name(symbol, "") if len(symbol) == 1 else ""
    return f"{symbol} ({f'{points} {name}'.strip()})"
