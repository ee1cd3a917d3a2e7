"""Files to lines to examples: the one entry for every format."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import BinaryIO, Literal, NoReturn, cast

from hardalign.data.formats import Example, Format
from hardalign.data.news import read_names
from hardalign.data.text import Symbols, plural, shorten
from hardalign.errors import HardalignError, InputError

MAX_LINE_BYTES = 1 << 24
"""No line of data is this long: a file without line ends must not fill the memory."""


def file_name(file: str | Path) -> str:
    """Returns the name of a file as messages show it."""
    return "standard input" if str(file) == "-" else str(file)


def read_lines(file: str | Path) -> Iterator[str]:
    r"""Gives the lines of a UTF-8 file one by one, without their line ends.

    ``-`` is standard input. Compressed data is recognised by its first bytes, whatever the name.
    A line ends in ``\n`` or ``\r\n`` and nowhere else: other characters that Unicode counts as
    line ends are text. A byte order mark at the beginning is dropped.

    Raises:
        InputError: The file cannot be read, or is not UTF-8; says at which line.
    """
    name = file_name(file)
    number = 0
    try:
        with _opened(file) as stream:
            while raw := stream.readline(MAX_LINE_BYTES):
                if number == 0:
                    raw = raw.removeprefix(codecs.BOM_UTF8)
                    if not raw:  # a file that holds the mark only is empty
                        return
                number += 1
                if len(raw) >= MAX_LINE_BYTES:
                    message = f"the line is longer than {MAX_LINE_BYTES} bytes; is this a text?"
                    raise InputError(message, file=name, line=number)
                yield _decoded(raw, name, number)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        message = f"damaged gzip data ({error}); compress or copy the file again"
        raise InputError(message, file=name, line=number + 1) from None
    except OSError as error:
        raise InputError(_reason(error), file=name) from None


def _decoded(raw: bytes, name: str, number: int) -> str:
    if raw.endswith(b"\n"):
        raw = raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        message = (
            f"not UTF-8: byte {raw[error.start]:#04x} at position {error.start + 1} of the line; "
            "convert the file to UTF-8"
        )
        raise InputError(message, file=name, line=number) from None


@contextmanager
def _opened(file: str | Path) -> Iterator[BinaryIO]:
    if str(file) == "-":
        yield _unpacked(sys.stdin.buffer)  # not ours to close
    else:
        with Path(file).open("rb") as stream:
            yield _unpacked(stream)


def _unpacked(stream: BinaryIO) -> BinaryIO:
    # A real stream is read as it is: one more buffer would wait for a full block, and hold up
    # somebody who types. Only a stand-in for standard input has to be wrapped to be peeked into.
    reader = (
        stream
        if isinstance(stream, io.BufferedReader)
        else io.BufferedReader(cast(io.RawIOBase, stream))
    )
    # A pipe may have delivered one byte only; no text begins with this control character.
    if reader.peek(2)[:2] in (b"\x1f\x8b", b"\x1f"):
        unzipped = gzip.GzipFile(fileobj=reader)
        return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, unzipped), 1 << 16))
    return cast(BinaryIO, reader)


def _reason(error: OSError) -> str:
    match error:
        case FileNotFoundError():
            return "no such file; check the name"
        case IsADirectoryError():
            return "this is a folder; name a file"
        case PermissionError():
            return "permission denied; make the file readable"
        case _:
            return f"cannot be read ({error.strerror or error})"


Purpose = Literal["training", "evaluation", "prediction"]
"""What examples are read for: prediction alone does without targets."""


@dataclass
class Skipped:
    """Counts what was passed over, so that the caller can report it."""

    blank_lines: int = 0
    first_blank: int = 0
    """The line of the first one, counted from 1."""

    def report(self, file: str | Path, what_happened: str) -> str | None:
        """Returns one line about the blank lines of a file, or None if there were none."""
        if not self.blank_lines:
            return None
        lines = plural(self.blank_lines, "blank line", "blank lines")
        return f"{file_name(file)}: {lines} {what_happened} (first: line {self.first_blank})"


def read_examples(
    file: str | Path,
    format: Format,  # noqa: A002 - the name users know
    purpose: Purpose,
    *,
    allow_empty: bool = False,
    skipped: Skipped | None = None,
) -> Iterator[Example]:
    """Gives the examples of a file one by one, in constant memory.

    The file is opened when the first example is taken, so that is when errors come.

    Args:
        file: The file, plain or gzip; ``-`` is standard input.
        format: How a line spells an example.
        purpose: For training and evaluation every example needs a target, and blank lines are
            passed over. For prediction the target may be empty or missing (then the other columns
            that matter stand alone: the source, and the tags if the format has them), and a blank
            line gives an example without symbols, so that output stays line by line. A file that
            should be XML but does not begin with ``<`` is then read as a list of names.
        allow_empty: Take an empty target as the empty string instead of refusing it.
        skipped: Is told what was passed over.

    Raises:
        HardalignError: The format has no target although the purpose needs one.
        InputError: The file cannot be read, has no examples, or a line is not as the format says.
    """
    lines = read_lines(file)
    yield from examples_in(
        lines, format, purpose, name=file_name(file), allow_empty=allow_empty, skipped=skipped
    )


def examples_in(
    lines: Iterator[str],
    format: Format,  # noqa: A002 - as above
    purpose: Purpose,
    *,
    name: str,
    allow_empty: bool = False,
    skipped: Skipped | None = None,
) -> Iterator[Example]:
    """Gives the examples of a file's lines, as ``read_examples`` does; messages say ``name``."""
    if purpose != "prediction" and "target" not in format.columns:
        columns = ",".join(format.columns)
        raise HardalignError(
            f"{purpose} needs a target, but the columns are {columns!r}; name one of them target"
        )
    fields = _Fields(name, format, purpose, allow_empty)
    if format.is_xml:
        xml, lines = _looks_like_xml(lines)
        if xml or purpose != "prediction":
            yield from _read_news(lines, fields)
            return
    yield from _read_table(lines, fields, Skipped() if skipped is None else skipped)


def examples_of(
    rows: Iterable[Sequence[str]],
    format: Format,  # noqa: A002 - as above
    *,
    name: str = "rows",
    allow_empty: bool = False,
) -> Iterator[Example]:
    """Gives the examples of rows in memory: one string for each column of the format.

    >>> next(examples_of([("cat", "K AE T")], FORMATS["lexicon"])).targets
    (('K', 'AE', 'T'),)

    Args:
        rows: Each as a line of a file would have it, cut at its TABs.
        format: What the columns are.
        name: What messages call the rows.
        allow_empty: Whether targets may be empty.

    Raises:
        InputError: A row is not as the format says; they are counted from 1.
    """
    fields = _Fields(name, format, "training", allow_empty)
    for number, row in enumerate(rows, start=1):
        yield _example(row, number, {len(format.columns): format.columns}, fields)


@dataclass(frozen=True)
class _Fields:
    """Cuts the fields of a file into symbols, and says where one is not as it must be."""

    file: str
    format: Format
    purpose: Purpose
    allow_empty: bool

    def source(self, text: str, line: int, column: int | None = None) -> Symbols:
        """Cuts a source, which must not be empty."""
        symbols = self.symbols(self.format.source_symbols, text, line, column)
        if not symbols:
            self.fail("the source is empty; fill it in, or check format and columns", line, column)
        return symbols

    def targets(self, text: str, line: int, column: int | None = None) -> tuple[Symbols, ...]:
        """Cuts a target; for prediction an empty one is none."""
        symbols = self.symbols(self.format.target_symbols, text, line, column)
        if symbols:
            return (symbols,)
        if self.purpose == "prediction":
            return ()
        if not self.allow_empty:
            self.fail("the target is empty; fill it in, or permit it (allow_empty)", line, column)
        return ((),)

    def tags(self, text: str, line: int, column: int) -> Symbols:
        """Cuts a list of tags."""
        return self.symbols(self.format.tag_symbols, text, line, column)

    def symbols(
        self, cut: Callable[[str], Symbols], text: str, line: int, column: int | None
    ) -> Symbols:
        """Cuts a text by ``cut``, and adds the place to what it complains of."""
        try:
            return cut(text)
        except HardalignError as error:
            self.fail(str(error), line, column)

    def fail(self, message: str, line: int | None = None, column: int | None = None) -> NoReturn:
        """Raises an error that says the place."""
        raise InputError(message, file=self.file, line=line, column=column)


def _looks_like_xml(lines: Iterator[str]) -> tuple[bool, Iterator[str]]:
    """Says whether the first line that is not blank begins with ``<``, and gives all lines back."""
    blank = 0
    for line in lines:
        if line.strip():
            return line.lstrip().startswith("<"), chain(repeat("", blank), [line], lines)
        blank += 1
    return True, repeat("", blank)  # with the other files without a name


def _read_table(lines: Iterable[str], fields: _Fields, skipped: Skipped) -> Iterator[Example]:
    prediction = fields.purpose == "prediction"
    full = fields.format.columns
    layouts = {len(full): full}
    if prediction:
        bare = tuple(column for column in full if column in ("source", "tags"))
        layouts.setdefault(len(bare), bare)
    number = 0
    any_example = False
    for number, line in enumerate(lines, start=1):
        if not line or (line.isspace() and "\t" not in line):
            skipped.blank_lines += 1
            skipped.first_blank = skipped.first_blank or number
            if prediction and any_example:
                yield Example((), line=number)
            continue
        if not any_example:
            any_example = True
            if prediction:
                # The blank lines so far waited: nothing is given out from a file of blank lines.
                yield from (Example((), line=earlier) for earlier in range(1, number))
        yield _example(line.split("\t"), number, layouts, fields)
    if not any_example:
        reason = f"all {number} lines are blank" if number else "the file is empty"
        fields.fail(f"no examples: {reason}")


def _example(
    cells: Sequence[str], number: int, layouts: dict[int, tuple[str, ...]], fields: _Fields
) -> Example:
    layout = layouts.get(len(cells))
    if layout is None:
        expected = " or ".join(
            f"{count} TAB-separated column{'s' * (count > 1)} ({', '.join(columns)})"
            for count, columns in layouts.items()
        )
        line, advice = shorten("\t".join(cells)), "choose another format or name the columns"
        commas = len(cells) == 1 and cells[0].count(",") + 1 in layouts
        fields.fail(
            f"expected {expected}, found {len(cells)} in {line}; "
            + ("are they separated by commas? write TABs instead" if commas else advice),
            number,
        )
    source: Symbols = ()
    targets: tuple[Symbols, ...] = ()
    tags: Symbols = ()
    text = ""
    for column, (kind, cell) in enumerate(zip(layout, cells, strict=True), start=1):
        if kind == "source":
            text = cell
            source = fields.source(cell, number, column)
        elif kind == "target":
            targets = fields.targets(cell, number, column)
        elif kind == "tags":
            tags = fields.tags(cell, number, column)
    return Example(source, targets, tags, text, number)


def _read_news(lines: Iterable[str], fields: _Fields) -> Iterator[Example]:
    any_example = False
    for line, text, spellings in read_names(lines, fields.file):
        any_example = True
        source = fields.source(text, line)
        targets = tuple(
            target for spelling in spellings for target in fields.targets(spelling, line)
        )
        if not spellings and fields.purpose != "prediction":
            fields.fail(f"the name {shorten(text)} has no <TargetName>; add one", line)
        yield Example(source, targets, (), text, line)
    if not any_example:
        fields.fail("no examples: there is no <Name> in the file")
