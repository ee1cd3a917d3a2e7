"""The NEWS shared-task XML: names with one spelling in the source and several in the target."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from hardalign.errors import InputError

MAX_TEXT = 1 << 16  # characters of all texts of one name together
MAX_TARGETS = 1000  # of one name
MAX_MARKUP = 1 << 20  # bytes of one tag or comment, and of all before the first element
MAX_DEPTH = 100  # elements inside each other
MAX_KINDS = 1000  # names of elements and attributes, which the parser never forgets
_BLOCK = 1 << 15  # characters that expat gets at once
# A line break or TAB inside a name comes from how the XML is laid out, and would break our output.
_LAYOUT = re.compile(r"[ \t\r\n]*[\t\r\n][ \t\r\n]*")


class Name(NamedTuple):
    """One ``<Name>`` element, its texts without white space at their ends."""

    line: int
    source: str
    targets: tuple[str, ...]


def read_names(lines: Iterable[str], file: str) -> Iterator[Name]:
    """Yield the names of a NEWS file, called ``file`` in messages, in constant memory.

    Entities that a file declares or needs are refused: they could grow beyond all memory or read
    other files.
    """
    parser = _Parser(file)
    empty = True
    for block in _blocks(lines):
        empty = empty and not block.strip()
        yield from parser.feed(block)
    if not empty:
        yield from parser.feed("", last=True)


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    """Join short lines and cut long ones, since expat reads an unfinished tag again each time."""
    block = io.StringIO()
    for line in lines:
        for start in range(0, len(line) + 1, _BLOCK):
            block.write(line[start : start + _BLOCK])
            if block.tell() >= _BLOCK:
                yield block.getvalue()
                block = io.StringIO()
        block.write("\n")
    yield block.getvalue().removesuffix("\n")


class _Parser:
    """Collects the names that expat meets."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._done: list[Name] = []
        self._line: int | None = None  # where the <Name> being read began
        self._texts: dict[str, list[str]] = {}  # of that name, by element
        self._pieces: list[str] | None = None  # of the text being read
        self._size = 0  # of all texts of that name, in characters
        self._depth = 0
        self._kinds: set[str] = set()  # names of elements and attributes so far
        self._fed = 0  # bytes
        self._expat = expat.ParserCreate("utf-8")
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._text
        self._expat.EntityDeclHandler = self._refuse_entity
        self._expat.SkippedEntityHandler = self._refuse_entity

    def feed(self, text: str, last: bool = False) -> list[Name]:
        encoded = text.encode()
        try:
            self._expat.Parse(encoded, last)
        except expat.ExpatError as error:
            message = f"malformed XML ({expat.ErrorString(error.code)}); is this a NEWS file?"
            raise InputError(message, file=self._file, line=error.lineno) from None
        self._fed += len(encoded)
        read = self._expat.CurrentByteIndex if self._kinds else 0
        if self._fed - read > MAX_MARKUP:
            place = "one tag or comment" if self._kinds else "all before the first element"
            self._fail(f"{place} has more than {MAX_MARKUP} bytes; shorten it")
        done, self._done = self._done, []
        return done

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        self._kinds.update((element, *attributes))
        if len(self._kinds) > MAX_KINDS:
            self._fail(f"more than {MAX_KINDS} kinds of elements and attributes")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(f"more than {MAX_DEPTH} elements inside each other")
        if element == "Name":
            if self._line is not None:
                self._fail("a <Name> inside a <Name>; close the first one")
            self._line = self._expat.CurrentLineNumber
            self._texts = {"SourceName": [], "TargetName": []}
            self._size = 0
        elif element in self._texts:
            if len(self._texts[element]) >= MAX_TARGETS:
                self._fail(f"a <Name> with more than {MAX_TARGETS} <{element}>; split it")
            self._pieces = []

    def _end(self, element: str) -> None:
        self._depth -= 1
        if element == "Name" and self._line is not None:
            sources = self._texts["SourceName"]
            if len(sources) != 1:
                self._fail(
                    f"a <Name> with {len(sources)} <SourceName> elements; it needs one", self._line
                )
            self._done.append(Name(self._line, sources[0], tuple(self._texts["TargetName"])))
            self._line, self._texts = None, {}
        elif element in self._texts and self._pieces is not None:
            text = "".join(self._pieces).strip()
            self._texts[element].append(_LAYOUT.sub(" ", text))
            self._pieces = None

    def _text(self, text: str) -> None:
        if self._pieces is not None:
            self._size += len(text)
            if self._size > MAX_TEXT:
                self._fail(f"a <Name> with more than {MAX_TEXT} characters; shorten it")
            self._pieces.append(text)

    def _refuse_entity(self, name: str, *_details: object) -> NoReturn:
        self._fail(f"the XML uses an entity of its own, {name!r}; write its text out instead")

    def _fail(self, message: str, line: int | None = None) -> NoReturn:
        raise InputError(message, file=self._file, line=line or self._expat.CurrentLineNumber)
