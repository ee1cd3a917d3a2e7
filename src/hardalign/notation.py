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
- What would be misread has a backslash before it: a colon, a leading ``+``, ``⊢`` or ``⊣`` in a
  source symbol, ``|`` and a trailing ``@3`` in a target symbol, and the backslash itself. A blank
  is ``\s``, any other white space or control character ``\u{a0}``.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hardalign.data.text import Symbols
from hardalign.errors import HardalignError

BEGIN, END, TAG = "⊢", "⊣", "+"
"""How the frame of a source is shown: its begin, its end, and what marks a tag."""

_IN_SOURCE = re.compile(rf"[:\\]|^[{TAG}{BEGIN}{END}]")
_IN_TARGET = re.compile(r"[|\\]|@(?=[0-9]+\Z)")
_ITEM = re.compile(r"((?:[^:\\]|\\.)*):(.*)", re.DOTALL)
_TARGET = re.compile(r"(?:[^|\\]|\\.)+", re.DOTALL)
_PLACE = re.compile(r"((?:[^\\]|\\.)+?)(?:@([0-9]+))?", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-f]+)\}|(.))", re.DOTALL)


class Links(NamedTuple):
    """Says where each target symbol comes from."""

    source: Symbols
    tags: Symbols
    target: Symbols
    columns: list[int | None]
    """For each target symbol its place among begin, tags, source symbols and end; None: nowhere."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(source index, target index), both from 0, of what comes from a source symbol."""
        first = 1 + len(self.tags)
        return [
            (column - first, row)
            for row, column in enumerate(self.columns)
            if column is not None and 0 <= column - first < len(self.source)
        ]


def write_pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """Write (source index, target index) pairs as Pharaoh does: ``0-0 1-1``."""
    return " ".join(f"{source}-{target}" for source, target in pairs)


def write_symbols(links: Links) -> str:
    """Write an alignment as aligned symbols; ``read_symbols`` takes them apart again."""
    heads = [
        BEGIN,
        *(TAG + _in_source(tag) for tag in links.tags),
        *map(_in_source, links.source),
        END,
    ]
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
    entries: list[tuple[int, str, int | None]] = []  # places in the target, symbols, columns
    for item in text.split(" ") if text else ():
        match = _ITEM.fullmatch(item)
        if match is None:
            raise HardalignError(f"{item!r} is not an aligned symbol: it has no colon")
        head, body = match.groups()
        column: int | None = 1 + len(tags) + len(source)
        if head == "":
            column = None
        elif head == BEGIN:
            column = 0
        elif head.startswith(TAG):
            if source:
                raise HardalignError(f"the tag {head!r} stands after a source symbol")
            tags.append(_unescape(head.removeprefix(TAG)))
        elif head != END:
            source.append(_unescape(head))
        for symbol, place in _targets(body):
            expected = entries[-1][0] + 1 if entries else 0
            entries.append((expected if place is None else place, symbol, column))
    entries.sort(key=lambda entry: entry[0])
    if [entry[0] for entry in entries] != list(range(len(entries))):
        raise HardalignError(f"the target symbols of {text!r} leave a place out, or fill one twice")
    target = tuple(entry[1] for entry in entries)
    return Links(tuple(source), tuple(tags), target, [entry[2] for entry in entries])


def _join(items: Iterable[tuple[str, Sequence[int]]], target: Symbols) -> str:
    """Writes each head with its target symbols, which come by their places."""
    words = []
    expected = 0
    for head, places in items:
        symbols = []
        for place in places:
            mark = "" if place == expected else f"@{place}"
            symbols.append(_in_target(target[place]) + mark)
            expected = place + 1
        words.append(f"{head}:{'|'.join(symbols)}")
    return " ".join(words)


def _targets(body: str) -> Iterator[tuple[str, int | None]]:
    """Gives the symbols after a colon, each with its place if that is written."""
    texts = _TARGET.findall(body)
    if "|".join(texts) != body:
        raise HardalignError(f"{body!r} has an empty target symbol, or ends in a backslash")
    for text in texts:
        match = _PLACE.fullmatch(text)
        assert match is not None  # it takes whatever _TARGET found
        symbol, place = match.groups()
        yield _unescape(symbol), None if place is None else int(place)


def _in_source(symbol: str) -> str:
    return _visible(_IN_SOURCE.sub(r"\\\g<0>", symbol))


def _in_target(symbol: str) -> str:
    return _visible(_IN_TARGET.sub(r"\\\g<0>", symbol))


def _visible(text: str) -> str:
    """Replace what would end a word or a line, or could not be seen."""
    return "".join(
        r"\s"
        if character == " "
        else f"\\u{{{ord(character):x}}}"
        if character.isspace() or unicodedata.category(character) == "Cc"
        else character
        for character in text
    )


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code, plain = match.groups()
        if code is None:
            return " " if plain == "s" else str(plain)
        if int(code, 16) > sys.maxunicode:
            raise HardalignError(f"{match.group()} is no character")
        return chr(int(code, 16))

    return _ESCAPE.sub(character, text)
