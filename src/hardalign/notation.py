r"""Alignments as a line of text: Pharaoh index pairs, and aligned symbols that can be read back.

*Pharaoh*: ``source-target`` indices from 0, in the order of the target: ``0-0 1-1 2-2 4-3 5-4``.

*Aligned symbols*: every source symbol, a colon, and the target symbols that come from it, joined by
``|``: *action* → *AE K SH AH N* is

    a:AE c:K t:SH i: o:AH n:N

- ``+PL:s``: from a tag, all of which are shown before the source symbols;
- ``⊢:x`` and ``⊣:x``: from the begin and the end of the source, shown where something comes from
  them; ``:x``: from nothing (only the unsupervised aligner knows that);
- ``m:m|m@3 e:e@1|e@4``: read from left to right, target symbols stand in order. One that does not
  follow the symbol written before it carries its place, counted from 0.
- What would be misread has a backslash before it (``\:`` ``\|`` ``\@`` ``\+`` ``\⊢`` ``\⊣``
  ``\\``); a blank is ``\s``, any other white space or control character ``\u{a0}``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hardalign.data.example import Symbols
from hardalign.errors import HardalignError

BEGIN, END, TAG = "⊢", "⊣", "+"
"""How the frame of a source is shown: its begin, its end, and what marks a tag."""

_MARKS = f":|@{TAG}{BEGIN}{END}\\"
_ITEM = re.compile(r"((?:[^:\\]|\\.)*):(.*)", re.DOTALL)
_TARGET = re.compile(r"((?:[^|@\\]|\\.)+)(?:@([0-9]+))?", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-f]+)\}|(.))", re.DOTALL)


class Links(NamedTuple):
    """Where each target symbol comes from."""

    source: Symbols
    tags: Symbols
    target: Symbols
    columns: list[int | None]
    """For each target symbol its place among begin, tags, source symbols and end; None: nowhere."""


def write_pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """Write (source index, target index) pairs as Pharaoh does: ``0-0 1-1``."""
    return " ".join(f"{source}-{target}" for source, target in pairs)


def write_symbols(links: Links) -> str:
    """Write an alignment as aligned symbols; ``read_symbols`` takes them apart again."""
    heads = [BEGIN, *(TAG + _escape(tag) for tag in links.tags), *map(_escape, links.source), END]
    contents: list[list[int]] = [[] for _ in heads]
    nowhere: dict[int, list[int]] = {}  # the columns that what comes from nothing is shown after
    previous = 0
    for place, column in enumerate(links.columns):
        if column is None:
            nowhere.setdefault(previous, []).append(place)
        else:
            contents[column].append(place)
            previous = column
    written: list[tuple[str, list[int]]] = []
    for column, (head, places) in enumerate(zip(heads, contents, strict=True)):
        if places or 0 < column < len(heads) - 1:
            written.append((head, places))
        written.extend(("", [place]) for place in nowhere.get(column, ()))
    return _join(written, links.target)


def read_symbols(text: str) -> Links:
    """Take back what ``write_symbols`` wrote.

    Raises:
        HardalignError: If the text is not in this notation.
    """
    source: list[str] = []
    tags: list[str] = []
    found: list[tuple[int, str, int | None]] = []  # places in the target, symbols, columns
    for item in text.split(" ") if text else ():
        parts = _ITEM.fullmatch(item)
        if parts is None:
            raise HardalignError(f"{item!r} is not an aligned symbol: it has no colon")
        head, body = parts.groups()
        column: int | None = 1 + len(tags) + len(source)
        if head == "":
            column = None
        elif head == BEGIN:
            column = 0
        elif head.startswith(TAG) and not source:
            tags.append(_unescape(head.removeprefix(TAG)))
        elif head != END:
            source.append(_unescape(head))
        for symbol, place in _targets(body):
            expected = found[-1][0] + 1 if found else 0
            found.append((expected if place is None else place, symbol, column))
    found.sort(key=lambda entry: entry[0])
    if [entry[0] for entry in found] != list(range(len(found))):
        raise HardalignError(f"the target symbols of {text!r} leave a place out, or fill one twice")
    target = tuple(entry[1] for entry in found)
    return Links(tuple(source), tuple(tags), target, [entry[2] for entry in found])


def _join(items: Iterable[tuple[str, Sequence[int]]], target: Symbols) -> str:
    """Write each head with its target symbols, given by their places."""
    words = []
    expected = 0
    for head, places in items:
        symbols = []
        for place in places:
            mark = "" if place == expected else f"@{place}"
            symbols.append(_escape(target[place]) + mark)
            expected = place + 1
        words.append(f"{head}:{'|'.join(symbols)}")
    return " ".join(words)


def _targets(body: str) -> Iterator[tuple[str, int | None]]:
    """The symbols after a colon, each with its place if that is given."""
    end = -1
    while body and end < len(body):
        match = _TARGET.match(body, end + 1)
        if match is None or body[match.end() : match.end() + 1] not in ("", "|"):
            raise HardalignError(f"{body!r} are not target symbols joined by |")
        symbol, place = match.groups()
        yield _unescape(symbol), None if place is None else int(place)
        end = match.end()


def _escape(symbol: str) -> str:
    return "".join(map(_escape_character, symbol))


def _escape_character(character: str) -> str:
    if character in _MARKS:
        return "\\" + character
    if character == " ":
        return "\\s"
    if character.isspace() or unicodedata.category(character) == "Cc":
        return f"\\u{{{ord(character):x}}}"
    return character


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code, plain = match.groups()
        return chr(int(code, 16)) if code else " " if plain == "s" else plain

    return _ESCAPE.sub(character, text)
