"""The NEWS shared-task XML: names with one spelling in the source and several in the target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from hardalign.errors import InputError

# A line break or TAB inside a name comes from how the XML is laid out, and would break our output.
_LAYOUT = re.compile(r"[ \t\r\n]*[\t\r\n][ \t\r\n]*")

_BLOCK = 100  # lines given to expat at once


class Name(NamedTuple):
    """One ``<Name>`` element, its texts without white space at their ends."""

    line: int
    source: str
    targets: tuple[str, ...]


def read_names(lines: Iterable[str], file: str) -> Iterator[Name]:
    """Give the names of a NEWS file one by one, without reading it to the end first.

    Args:
        lines: The lines of the file.
        file: Its name, for messages.

    Raises:
        InputError: The XML is malformed, a name has not exactly one source, or the file declares
            or needs entities: those could grow beyond all memory or read other files.
    """
    parser = _Parser(file)
    empty = True
    numbered = enumerate(lines)
    # In blocks, because expat reads an unfinished token (a long comment) again with every feed.
    while block := "".join("\n" + line if i else line for i, line in islice(numbered, _BLOCK)):
        empty = empty and block.isspace()
        parser.feed(block)
        yield from parser.take()
    if not empty:
        parser.feed("", last=True)
        yield from parser.take()


class _Parser:
    """Collects the names that expat meets."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._done: list[Name] = []
        self._line: int | None = None  # where the <Name> being read began
        self._texts: dict[str, list[str]] = {}  # of that name, by element
        self._pieces: list[str] | None = None  # of the text being read
        self._expat = expat.ParserCreate()
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._text
        self._expat.EntityDeclHandler = self._refuse_entity
        self._expat.SkippedEntityHandler = self._refuse_entity

    def feed(self, text: str, last: bool = False) -> None:
        try:
            self._expat.Parse(text, last)
        except expat.ExpatError as error:
            message = f"malformed XML ({expat.ErrorString(error.code)}); is this a NEWS file?"
            raise InputError(message, file=self._file, line=error.lineno) from None

    def take(self) -> list[Name]:
        done, self._done = self._done, []
        return done

    def _start(self, element: str, _attributes: dict[str, str]) -> None:
        if element == "Name":
            if self._line is not None:
                self._fail("a <Name> inside a <Name>; close the first one")
            self._line = self._expat.CurrentLineNumber
            self._texts = {"SourceName": [], "TargetName": []}
        elif element in self._texts:
            self._pieces = []

    def _end(self, element: str) -> None:
        if element == "Name" and self._line is not None:
            sources = self._texts["SourceName"]
            if len(sources) != 1:
                self._fail(
                    f"a <Name> with {len(sources)} <SourceName> elements; it needs one", self._line
                )
            self._done.append(Name(self._line, sources[0], tuple(self._texts["TargetName"])))
            self._line = None
            self._texts = {}
        elif element in self._texts and self._pieces is not None:
            text = "".join(self._pieces).strip()
            self._texts[element].append(_LAYOUT.sub(" ", text))
            self._pieces = None

    def _text(self, text: str) -> None:
        if self._pieces is not None:
            self._pieces.append(text)

    def _refuse_entity(self, name: str, *_details: object) -> NoReturn:
        self._fail(f"the XML uses an entity of its own, {name!r}; write its text out instead")

    def _fail(self, message: str, line: int | None = None) -> NoReturn:
        raise InputError(message, file=self._file, line=line or self._expat.CurrentLineNumber)
