"""Running text cut into words, numbers, symbols, and what stands between them.

Every character has a class, and words are patterns of classes, so that all scripts are cut alike:

- A word is letters with their marks. Apostrophes and hyphens between letters belong to it, and so
  does what is invisible there, such as a soft hyphen.
- Single letters with dots between them (U.S., a.m.) are an abbreviation, its last dot included.
- What has a digit is a number, with all that is joined to it: 1999, $3.50, 10:30, 3rd, B2B, 50%.
- Currency, mathematical and other signs, emoji, and & @ # % are symbols.
- Addresses of the web (with :// or www., or a name that ends in .com and the like) and of mail are
  whole.
- All else, blanks and punctuation, stands between words and stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from hardalign.data.vocabulary import APOSTROPHES, HYPHENS, INVISIBLE

Kind = Literal["word", "abbreviation", "number", "symbol", "address", "between"]

_SIGNS = "&@#%"
_JOINTS = ",:"

_PATTERNS = re.compile(
    r"(?P<number>s?a*9(?:[.,:]9|['s-]?[a9])*s?)"
    r"|(?P<abbreviation>(?<!a)a(?:\.a)+(?!a)\.?)"
    r"|(?P<word>'?a+(?:['-]a+)*'?)"
    r"|(?P<symbol>s)"
    r"|(?P<address>u+)"
    r"|(?P<between>[^a9s'u]+|.)"
)
_INSIDE = re.compile(r"(?<=a)z+(?=[a'-])|(?<=['-])z+(?=a)")
_AFTER = r".,;:!?'\"’”»)\]}>"
"""What may stand behind an address and is no part of it."""
_ENDINGS = (
    r"(?:com|org|net|edu|gov|info)(?:\.[a-z]{2})?|(?:co|ac)\.[a-z]{2}|COM|ORG|NET|EDU|GOV|INFO"
)
"""What an address ends in that has neither :// nor www.; a country may follow."""
_ADDRESS = re.compile(
    rf"(?<!\w)(?:[a-z]{{2,10}}://|www\.)\S*[^\s{_AFTER}]"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    # Where a blank is missing, "end.Net" and "is.it" are words of two sentences: hence few endings,
    # in small letters or all in capitals.
    rf"|(?<![\w.+-])(?:[\w-]+\.)+(?-i:{_ENDINGS})(?![\w-])(?:(?=[:/])\S*[^\s{_AFTER}])?",
    re.IGNORECASE,
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
    classes = list(map(_class, line))
    for match in _ADDRESS.finditer(line):
        classes[match.start() : match.end()] = "u" * len(match[0])
    joined = _INSIDE.sub(lambda match: "a" * len(match[0]), "".join(classes))
    for match in _PATTERNS.finditer(joined):
        kind: Kind = match.lastgroup  # type: ignore[assignment]
        yield Token(kind, line[match.start() : match.end()])


@cache
def _class(character: str) -> str:
    if character in APOSTROPHES:
        return "'"
    if character in HYPHENS:
        return "-"
    if character in INVISIBLE:
        return "z"
    if character == "." or character in _JOINTS:
        return character
    category = unicodedata.category(character)[0]
    if category == "S" or character in _SIGNS:
        return "s"
    return {"L": "a", "M": "a", "N": "9"}.get(category, " ")
