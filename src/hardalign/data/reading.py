"""Files to lines to examples: the one entry for every format."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import Literal, NoReturn, cast

from hardalign.data.formats import Example, Format
from hardalign.data.news import read_names
from hardalign.data.text import Symbols, plural, shorten
from hardalign.errors import HardalignError, InputError

MAX_LINE_BYTES = 1 << 24
"""No line of data is this long: a file without line ends must not fill the memory."""
_REASONS = {
    FileNotFoundError: "no such file; check the name",
    IsADirectoryError: "this is a folder; name a file",
    PermissionError: "permission denied; make the file readable",
}


def file_name(file: str | Path) -> str:
    """Return the name of a file as messages show it."""
    return "standard input" if str(file) == "-" else str(file)


def read_lines(file: str | Path) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file one by one, without their line ends.

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
        reason = _REASONS.get(type(error), f"cannot be read ({error.strerror or error})")
        raise InputError(reason, file=name) from None


def _decoded(raw: bytes, name: str, number: int) -> str:
    if raw.endswith(b"\n"):
        raw = raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        place = f"byte {raw[error.start]:#04x} at position {error.start + 1} of the line"
        message = f"not UTF-8: {place}; convert the file to UTF-8"
        raise InputError(message, file=name, line=number) from None


@contextmanager
def _opened(file: str | Path) -> Iterator[io.BufferedReader]:
    # Standard input is not ours to close.
    with nullcontext(sys.stdin.buffer) if str(file) == "-" else Path(file).open("rb") as stream:
        # A real stream is read as it is: one more buffer would wait for a full block, and hold up
        # somebody who types. A stand-in for standard input has to be wrapped to be peeked into.
        if not isinstance(reader := stream, io.BufferedReader):
            reader = io.BufferedReader(cast(io.RawIOBase, stream))
        # A pipe may have delivered one byte only; no text begins with this control character.
        if reader.peek(2)[:2] in (b"\x1f\x8b", b"\x1f"):
            unzipped = gzip.GzipFile(fileobj=reader)
            reader = io.BufferedReader(cast(io.RawIOBase, unzipped), 1 << 16)
        yield reader


Purpose = Literal["training", "evaluation", "prediction"]
"""What examples are read for: prediction alone does without targets."""


@dataclass
class Skipped:
    """What was not read as an example, for a remark to the user."""

    blank_lines: int = 0
    first_blank: int = 0
    """The line of the first one, counted from 1."""
    header: str = ""
    """The headings of the columns, where the file has some."""

    def report(self, file: str | Path, what_happened: str) -> str | None:
        """Return one line about the header and the blank lines of a file, or None."""
        parts = [f"the header ({self.header})"] if self.header else []
        if self.blank_lines:
            parts.append(plural(self.blank_lines, "blank line", "blank lines"))
        first = f" (first: line {self.first_blank})" if self.blank_lines else ""
        return f"{file_name(file)}: {' and '.join(parts)} {what_happened}{first}" if parts else None


def read_examples(
    file: str | Path,
    format: Format,  # noqa: A002 - the name users know
    purpose: Purpose,
    *,
    allow_empty: bool = False,
    skipped: Skipped | None = None,
    spelt: dict[int, str] | None = None,
) -> Iterator[Example]:
    """Yield the examples of a file one by one, in constant memory.

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
        spelt: Is given the cells of every example, joined by TABs, by line.

    Raises:
        HardalignError: The format has no target although the purpose needs one.
        InputError: The file cannot be read, has no examples, or a line is not as the format says.
    """
    if purpose != "prediction" and "target" not in format.columns:
        columns = ",".join(format.columns)
        raise HardalignError(
            f"{purpose} needs a target, but the columns are {columns!r}; name one of them target"
        )
    fields = _Fields(file_name(file), format, purpose, allow_empty)
    first, lines = _peek(read_lines(file))
    if format.is_xml and (purpose != "prediction" or not first or first.lstrip()[0] == "<"):
        yield from _read_news(lines, fields)
        return
    skipped = Skipped() if skipped is None else skipped
    yield from _read_table(_rows(first, lines, fields, skipped), fields, skipped, spelt)


def examples_of(
    rows: Iterable[Sequence[str]],
    format: Format,  # noqa: A002 - as above
    *,
    name: str = "rows",
    allow_empty: bool = False,
) -> Iterator[Example]:
    """Yield the examples of rows in memory: one string for each column of the format.

    >>> next(examples_of([("cat", "K AE T")], FORMATS["lexicon"])).targets
    (('K', 'AE', 'T'),)

    Raises:
        InputError: A row is not as the format says; they are counted from 1.
    """
    fields = _Fields(name, format, "training", allow_empty)
    for number, row in enumerate(rows, start=1):
        if isinstance(row, (str, bytes, Mapping)) or not hasattr(row, "__len__"):
            fields.fail(f"a row must be a sequence of strings, not {row!r:.50}", number)
        if number == 1 and _headings(row, format.columns):
            fields.fail(f"{', '.join(row)} is a header; leave it out", number)
        yield _example(row, number, {len(format.columns): format.columns}, fields)


@dataclass(frozen=True)
class _Fields:
    """Cuts the fields of a file into symbols; its errors name the place."""

    file: str
    format: Format
    purpose: Purpose
    allow_empty: bool

    def source(self, text: str, line: int, column: int | None = None) -> Symbols:
        """Cut a source, which must not be empty."""
        symbols = self.symbols(self.format.source_symbols, text, line, column)
        if not symbols:
            self.fail("the source is empty; fill it in, or check format and columns", line, column)
        return symbols

    def targets(self, text: str, line: int, column: int | None = None) -> tuple[Symbols, ...]:
        """Cut a target; for prediction an empty one is none."""
        symbols = self.symbols(self.format.target_symbols, text, line, column)
        if not symbols and self.purpose == "prediction":
            return ()
        if not symbols and not self.allow_empty:
            self.fail("the target is empty; fill it in, or permit it (allow_empty)", line, column)
        return (symbols,)

    def symbols(
        self, cut: Callable[[str], Symbols], text: str, line: int, column: int | None
    ) -> Symbols:
        """Cut a text by ``cut``, and add the place to its errors."""
        try:
            return cut(text)
        except HardalignError as error:
            self.fail(str(error), line, column)

    def fail(self, message: str, line: int | None = None, column: int | None = None) -> NoReturn:
        """Raise an error that names the place."""
        raise InputError(message, file=self.file, line=line, column=column)


def _peek(lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """Return the first line that is not blank, or nothing, and all lines."""
    blank = 0
    for line in lines:
        if line.strip():
            return line, chain(repeat("", blank), [line], lines)
        blank += 1
    return "", repeat("", blank)


HEADINGS = {
    "source": "source|input|word|spelling|letters|graphemes?|orthography|lemma|name",
    "target": "target|output|phonemes?|phones|pronunciation|transcription|ipa|form|transliteration",
    "tags": "tags?|features?|feats|msd|morphology",
}
"""What the columns of a table are called."""


def _headings(cells: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return which column each heading of a header names, or nothing if a row is no header."""
    if len(cells) != len(columns) or sum(column != "-" for column in columns) < 2:
        return []
    words = [str(cell).strip().casefold() for cell in cells]
    named = dict(zip(columns, words, strict=True))
    source, target = named["source"], named.get("target", "")
    if target and (source.startswith(target) or target.startswith(source)):  # phoneme, phonemes
        return []
    kinds = [
        next((kind for kind, names in HEADINGS.items() if re.fullmatch(names, word)), "-")
        for word in words
    ]
    named = dict(zip(columns, kinds, strict=True))
    return kinds if all(named[column] != "-" for column in columns if column != "-") else []


def _rows(
    first: str, lines: Iterator[str], fields: _Fields, skipped: Skipped
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line, no cells for a blank one.

    A table of a spreadsheet, which has a header or is called .csv, is read with its quotation
    marks; in other files a quotation mark is a character. A header is left out.
    """
    is_csv = fields.file.lower().removesuffix(".gz").endswith(".csv")
    delimiter = max(",;\t", key=first.count) if is_csv else "\t"
    columns = fields.format.columns
    try:
        cells = next(csv.reader([first], delimiter=delimiter), [])
    except csv.Error:  # a cell of 100,000 characters
        cells = []
    kinds = _headings(cells, columns)
    if not is_csv and not kinds:
        for number, line in enumerate(lines, start=1):
            blank = not line or (line.isspace() and "\t" not in line)
            yield number, [] if blank else line.split("\t")
        return
    if kinds != list(columns) and sorted(kinds) == sorted(columns):
        fields.fail(
            f"the header says {', '.join(cells)}, but the columns are read as "
            f"{', '.join(columns)}; give --columns {','.join(kinds)}"
        )
    skipped.header = ", ".join(cells) if kinds else ""
    start = 1
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any("\n" in cell or "\t" in cell for cell in row):
                fields.fail("a cell with a line break or TAB in quotation marks", start)
            if not any(row):
                yield start, []
            elif kinds:
                kinds = []  # this was the header
            else:
                yield start, row
            start = reader.line_num + 1
    except csv.Error as error:
        fields.fail(f"quotation marks that do not match ({error}); mend or remove them", start)


def _read_table(
    rows: Iterable[tuple[int, list[str]]],
    fields: _Fields,
    skipped: Skipped,
    spelt: dict[int, str] | None,
) -> Iterator[Example]:
    prediction = fields.purpose == "prediction"
    full = fields.format.columns
    widths = {len(full): full}
    if prediction:
        bare = tuple(column for column in full if column in ("source", "tags"))
        widths.setdefault(len(bare), bare)
    number = waiting = 0
    any_example = False
    for number, cells in rows:
        if not cells:
            skipped.blank_lines += 1
            skipped.first_blank = skipped.first_blank or number
            if prediction and any_example:
                yield Example((), line=number)
            waiting += not any_example
            continue
        if prediction and not any_example:
            # The blank lines so far waited: nothing is given out from a file of blank lines.
            yield from (Example((), line=earlier) for earlier in range(1, waiting + 1))
        any_example = True
        if spelt is not None:
            spelt[number] = "\t".join(cells)
        yield _example(cells, number, widths, fields)
    if not any_example:
        blank = f"all {number} lines are blank" if number else "the file is empty"
        reason = "there is a header only" if skipped.header else blank
        fields.fail(f"no examples: {reason}")


def _example(
    cells: Sequence[str], number: int, widths: dict[int, tuple[str, ...]], fields: _Fields
) -> Example:
    columns = widths.get(len(cells))
    if columns is None:
        expected = " or ".join(
            f"{count} TAB-separated column{'s' * (count > 1)} ({', '.join(columns)})"
            for count, columns in widths.items()
        )
        line, advice = shorten("\t".join(cells)), "choose another --format or name the --columns"
        if len(cells) == 1 and cells[0].count(",") + 1 in widths:
            advice = "are they separated by commas? call the file .csv, or write TABs"
        fields.fail(f"expected {expected}, found {len(cells)} in {line}; {advice}", number)
    where = {kind: (cells[k], number, k + 1) for k, kind in enumerate(columns)}
    source = fields.source(*where["source"])
    targets = fields.targets(*where["target"]) if "target" in where else ()
    cut = fields.format.tag_symbols
    tags = fields.symbols(cut, *where["tags"]) if "tags" in where else ()
    return Example(source, targets, tags, where["source"][0], number)


def _read_news(lines: Iterable[str], fields: _Fields) -> Iterator[Example]:
    line = 0
    for line, text, spellings in read_names(lines, fields.file):
        source = fields.source(text, line)
        targets = tuple(t for spelling in spellings for t in fields.targets(spelling, line))
        if not spellings and fields.purpose != "prediction":
            fields.fail(f"the name {shorten(text)} has no <TargetName>; add one", line)
        yield Example(source, targets, (), text, line)
    if not line:
        fields.fail("no examples: there is no <Name> in the file")
