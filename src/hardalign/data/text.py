"""Strings to symbols and back (Unicode normalisation, segmentation), and text for messages."""

from __future__ import annotations

import re
import unicodedata

from hardalign.errors import HardalignError

Symbols = tuple[str, ...]
"""A string cut into its symbols: characters, phonemes, or whatever the format says."""
NORMALIZATIONS = ("NFC", "NFD", "NFKC", "NFKD", "none")
CASES = ("keep", "lower")
MAX_MARKS = 32
"""Maximum number of combining marks in a row. Real text has fewer than ten, and normalising is
quadratic in them: half an hour for a megabyte of marks in the wrong order."""
_HALFWIDTH = "\uff9e\uff9f"  # letters that NFKC turns into marks
_MARKS = re.compile(rf"[\W{_HALFWIDTH}]{{{MAX_MARKS + 1},}}")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
PART = "+"
"""Prefix of each character but the first of a split symbol; other symbols have one character."""


def normalize(text: str, form: str) -> str:
    """Return text in a Unicode normal form, so that é is one symbol however it is spelt."""
    if text.isascii():
        return text
    for stretch in _MARKS.findall(text):
        kinds = ("M" if c in _HALFWIDTH else unicodedata.category(c)[0] for c in stretch)
        if "M" * (MAX_MARKS + 1) in "".join(kinds):
            many = f"more than {MAX_MARKS} combining marks in a row"
            raise HardalignError(f"{shorten(text, 20)} has {many}; remove them")
    return text if form == "none" else unicodedata.normalize(form, text)  # type: ignore[arg-type]


def lower(text: str, form: str) -> str:
    """Return text in lower case and a Unicode normal form."""
    # Normalising may produce capitals, and lower-casing may need normalising.
    return normalize(normalize(text, form).lower(), form)


def segment(text: str, separator: str) -> Symbols:
    """Cut text into symbols; the empty string has none.

    The separator ``""`` makes every code point a symbol. ``" "`` cuts at runs of spaces, ignoring
    those at the ends. Any other separator must stand between two symbols.
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


def part(symbols: Symbols) -> Symbols:
    """Split symbols into characters.

    >>> part(("tʰ", "aː", "n"))
    ('t', '+ʰ', 'a', '+ː', 'n')
    """
    return tuple(PART * (k > 0) + letter for symbol in symbols for k, letter in enumerate(symbol))


def unite(parts: Symbols) -> Symbols:
    """Undo ``part``; a continuation with nothing before it starts a symbol."""
    symbols: list[str] = []
    for one in parts:
        if len(one) > 1 and symbols:
            symbols[-1] += one[1:]
        else:
            symbols.append(one[-1])
    return tuple(symbols)


def printable(text: str) -> str:
    """Escape all control characters but TAB and LF, to make text safe for a terminal."""
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def shorten(text: str, limit: int = 40) -> str:
    """Quote text for an error message, on one line and truncated."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def plural(count: int, one: str, more: str) -> str:
    """Format a count for a message: 1 word was, 2 words were."""
    return f"{count} {one if count == 1 else more}"
