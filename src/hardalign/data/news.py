"""NEWS shared-task XML: names with one spelling in the source and several in the target."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from hardalign.errors import InputError

MAX_CHARACTERS = 1 << 23
"""Maximum size of a file, in characters: some 70,000 names."""
_BLANKS = re.compile(r"[ \t\r\n]+")


class Name(NamedTuple):
    """One ``<Name>`` element, its texts stripped of white space."""

    line: int
    source: str
    targets: tuple[str, ...]


def read_names(lines: Iterable[str], file: str) -> list[Name]:
    """Return the names of a NEWS file, called ``file`` in messages.

    Declarations and entities are refused: they could exhaust memory or read other files.
    """
    text, size = [], 0
    for number, line in enumerate(lines, start=1):
        text.append(line)
        size += len(line) + 1
        if size > MAX_CHARACTERS:
            message = f"more than {MAX_CHARACTERS} characters of XML; split the file"
            raise InputError(message, file=file, line=number)
    document = "\n".join(text)
    return _Parser(file).names_in(document) if document.strip() else []


class _Parser:
    """Collects names from the events of expat."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._names: list[Name] = []
        self._line: int | None = None  # where the open <Name> began
        self._texts: dict[str, list[str]] = {}  # of the open <Name>, by element
        self._pieces: list[str] | None = None  # of the text of the open element
        self._expat = expat.ParserCreate("utf-8", intern=None)
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._text
        self._expat.StartDoctypeDeclHandler = self._refuse_declarations
        self._expat.SkippedEntityHandler = self._refuse_entity

    def names_in(self, document: str) -> list[Name]:
        try:
            self._expat.Parse(document.encode(), True)
        except expat.ExpatError as error:
            message = f"malformed XML ({expat.ErrorString(error.code)}); is this a NEWS file?"
            raise InputError(message, file=self._file, line=error.lineno) from None
        return self._names

    def _start(self, element: str, _attributes: dict[str, str]) -> None:
        if element == "Name":
            if self._line is not None:
                self._fail("a <Name> inside a <Name>; close the first one")
            self._line = self._expat.CurrentLineNumber
            self._texts = {"SourceName": [], "TargetName": []}
        elif element in self._texts:
            self._pieces = []

    def _text(self, text: str) -> None:
        if self._pieces is not None:
            self._pieces.append(text)

    def _end(self, element: str) -> None:
        if element == "Name" and self._line is not None:
            sources = self._texts["SourceName"]
            if len(sources) != 1:
                self._fail(
                    f"a <Name> with {len(sources)} <SourceName> elements; it needs one", self._line
                )
            self._names.append(Name(self._line, sources[0], tuple(self._texts["TargetName"])))
            self._line, self._texts = None, {}
        elif element in self._texts and self._pieces is not None:
            text = "".join(self._pieces).strip()
            self._texts[element].append(_BLANKS.sub(_laid_out, text))
            self._pieces = None

    def _refuse_declarations(self, _name: str, _system: object, _public: object, own: int) -> None:
        if own:
            self._fail("the XML declares entities or elements of its own; remove its <!DOCTYPE>")

    def _refuse_entity(self, name: str, _is_parameter: object) -> None:
        self._fail(f"the XML uses an entity of its own, {name!r}; write its text out instead")

    def _fail(self, message: str, line: int | None = None) -> NoReturn:
        raise InputError(message, file=self._file, line=line or self._expat.CurrentLineNumber)


def _laid_out(blanks: re.Match[str]) -> str:
    """Replace white space by one space if it has line breaks or TABs, which would break output."""
    return " " if set(blanks[0]) - {" "} else blanks[0]
