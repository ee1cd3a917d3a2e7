"""Running text cut into words, numbers, symbols, and what stands between them.

Every character has a class, and words are patterns of classes, so that all scripts are cut alike:

- A word is letters with their marks. Apostrophes and hyphens between letters belong to it.
- Single letters with dots between them (U.S., a.m.) are an abbreviation, its last dot included.
- What has a digit is a number, with all that is joined to it: 1999, $3.50, 10:30, 3rd, B2B, 50%.
- Currency, mathematical and other signs, emoji, and & @ # % are symbols.
- All else, blanks and punctuation, stands between words and stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

Kind = Literal["word", "abbreviation", "number", "symbol", "between"]

APOSTROPHES = "'’ʼ＇"
HYPHENS = "-‐‑"
PLAIN = str.maketrans(
    dict.fromkeys(APOSTROPHES, APOSTROPHES[0]) | dict.fromkeys(HYPHENS, HYPHENS[0])
)
"""All apostrophes are one, and so are all hyphens."""
_SIGNS = "&@#%"
_JOINTS = ",:"

_PATTERNS = re.compile(
    r"(?P<number>s?a*9(?:[.,:]9|['s-]?[a9])*s?)"
    r"|(?P<abbreviation>(?<!a)a(?:\.a)+(?!a)\.?)"
    r"|(?P<word>'?a+(?:['-]a+)*'?)"
    r"|(?P<symbol>s)"
    r"|(?P<between>[^a9s']+|.)"
)


class Token(NamedTuple):
    """A piece of a line; all pieces together are the line."""

    kind: Kind
    text: str


def tokens(line: str) -> Iterator[Token]:
    """Cuts a line.

    >>> [token.text for token in tokens("It's 10:30, Jean-Luc!") if token.kind != "between"]
    ["It's", '10:30', 'Jean-Luc']
    """
    classes = "".join(map(_class, line))
    for match in _PATTERNS.finditer(classes):
        kind: Kind = match.lastgroup  # type: ignore[assignment]
        yield Token(kind, line[match.start() : match.end()])


@cache
def _class(character: str) -> str:
    if character in APOSTROPHES:
        return "'"
    if character in HYPHENS:
        return "-"
    if character == "." or character in _JOINTS:
        return character
    category = unicodedata.category(character)[0]
    if category == "S" or character in _SIGNS:
        return "s"
    return {"L": "a", "M": "a", "N": "9"}.get(category, " ")
