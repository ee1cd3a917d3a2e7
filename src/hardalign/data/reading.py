"""Files to lines to examples: the one entry for every format; and where examples came from."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from hardalign.data.formats import Example, Format
from hardalign.data.news import read_names
from hardalign.data.text import Symbols, plural, shorten
from hardalign.errors import HardalignError, InputError
from hardalign.files import build_record

MAX_LINE_BYTES = 1 << 24
"""No line of data is this long: a file without line ends must not fill the memory."""
HEADINGS = {
    "source": "source|input|words?|spelling|letters|graphemes?|orthography|lemma|name",
    "target": "target|output|phonemes?|phones|pron(unciations?)?|transcription|ipa|form"
    "|transliteration",
    "tags": "tags?|features?|feats|msd|morphology",
}
"""What the columns of a table are called."""
Purpose = Literal["training", "evaluation", "prediction"]
"""What examples are read for: prediction alone does without targets."""
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
                raw = raw[:-2] if raw.endswith(b"\r\n") else raw.removesuffix(b"\n")
                yield raw.decode()
    except UnicodeDecodeError as error:
        place = f"byte {raw[error.start]:#04x} at position {error.start + 1} of the line"
        message = f"not UTF-8: {place}; convert the file to UTF-8"
        raise InputError(message, file=name, line=number) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        message = f"damaged gzip data ({error}); compress or copy the file again"
        raise InputError(message, file=name, line=number + 1) from None
    except OSError as error:
        reason = _REASONS.get(type(error), f"cannot be read ({error.strerror or error})")
        raise InputError(reason, file=name) from None


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


@dataclass
class Skipped:
    """What was not read as an example, for a remark to the user."""

    blank_lines: int = 0
    first_blank: int = 0  # the line of the first one, counted from 1
    header: str = ""  # the headings of the columns, where the file has some

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

    The file is opened when the first example is taken, so that is when errors come. For training
    and evaluation every example needs a target, and blank lines are passed over. For prediction the
    target may be empty or missing (then the source, and the tags if the format has them, stand
    alone), and a blank line gives an example without symbols, so that output stays line by line. A
    file that should be XML but does not begin with ``<`` is then read as a list of names.

    ``allow_empty`` takes an empty target as the empty string. ``skipped`` is told what was passed
    over, ``spelt`` is given the cells of every example, joined by TABs, by line.
    """
    if purpose != "prediction" and "target" not in format.columns:
        columns = f"the columns are {','.join(format.columns)!r}"
        raise HardalignError(f"{purpose} needs a target, but {columns}; name one of them target")
    cutter = _Cutter(file_name(file), format, purpose, allow_empty)
    first, lines = _peek(read_lines(file))
    if format.is_xml and (purpose != "prediction" or not first or first.lstrip()[0] == "<"):
        yield from cutter.names(lines)
    else:
        skipped = Skipped() if skipped is None else skipped
        yield from cutter.table(first, lines, skipped, spelt)


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
    """
    cutter = _Cutter(name, format, "training", allow_empty)
    for number, row in enumerate(rows, start=1):
        if isinstance(row, (str, bytes, Mapping)) or not hasattr(row, "__len__"):
            cutter.fail(f"a row must be a sequence of strings, not {row!r:.50}", number)
        if number == 1 and _headings(row, format.columns):
            cutter.fail(f"{', '.join(row)} is a header; leave it out", number)
        yield cutter.example(row, number)


class _Cutter:
    """Makes examples of the cells of a file; its errors name the place."""

    def __init__(self, file: str, layout: Format, purpose: Purpose, allow_empty: bool) -> None:
        self.file, self.columns = file, layout.columns
        self._prediction, self._allow_empty = purpose == "prediction", allow_empty
        self._widths = {len(self.columns): self.columns}
        if self._prediction:
            bare = tuple(column for column in self.columns if column in ("source", "tags"))
            self._widths.setdefault(len(bare), bare)
        self._cut = {
            "source": layout.source_symbols,
            "target": layout.target_symbols,
            "tags": layout.tag_symbols,
        }

    def fail(self, message: str, line: int | None = None, column: int | None = None) -> NoReturn:
        """Raise an error that names the place."""
        raise InputError(message, file=self.file, line=line, column=column)

    def _symbols(self, kind: str, text: str, line: int, column: int | None = None) -> Symbols:
        try:
            symbols = self._cut[kind](text)
        except HardalignError as error:
            self.fail(str(error), line, column)
        if not symbols and kind == "source":
            self.fail("the source is empty; fill it in, or check format and columns", line, column)
        if not symbols and kind == "target" and not self._prediction and not self._allow_empty:
            self.fail("the target is empty; fill it in, or permit it (allow_empty)", line, column)
        return symbols

    def example(self, cells: Sequence[str], line: int) -> Example:
        """Make an example of the cells of a line."""
        columns = self._widths.get(len(cells))
        if columns is None:
            self._refuse_width(cells, line)
        own = {
            kind: self._symbols(kind, cells[k], line, k + 1)
            for k, kind in enumerate(columns)
            if kind != "-"
        }
        target = own.get("target", ())
        targets = (target,) if target or not self._prediction else ()
        text = cells[columns.index("source")]
        return Example(own["source"], targets, own.get("tags", ()), text, line)

    def _refuse_width(self, cells: Sequence[str], line: int) -> NoReturn:
        expected = " or ".join(
            f"{count} TAB-separated column{'s' * (count > 1)} ({', '.join(columns)})"
            for count, columns in self._widths.items()
        )
        shown = shorten("\t".join(map(str, cells)))  # rows in memory may hold anything
        advice = "choose another --format or name the --columns"
        if len(cells) == 1 and shown.count(",") + 1 in self._widths:
            advice = "are they separated by commas? call the file .csv, or write TABs"
        self.fail(f"expected {expected}, found {len(cells)} in {shown}; {advice}", line)

    def names(self, lines: Iterable[str]) -> Iterator[Example]:
        """Yield the examples of NEWS XML."""
        line = 0
        for line, text, spellings in read_names(lines, self.file):
            source = self._symbols("source", text, line)
            targets = [self._symbols("target", spelling, line) for spelling in spellings]
            if not targets and not self._prediction:
                self.fail(f"the name {shorten(text)} has no <TargetName>; add one", line)
            kept = tuple(target for target in targets if target or not self._prediction)
            yield Example(source, kept, (), text, line)
        if not line:
            self.fail("no examples: there is no <Name> in the file")

    def table(
        self, first: str, lines: Iterator[str], skipped: Skipped, spelt: dict[int, str] | None
    ) -> Iterator[Example]:
        """Yield the examples of columns; ``first`` is the first line that is not blank."""
        number, any_example = 0, False
        for number, cells in self._rows(first, lines, skipped):
            if cells:
                any_example = True
                if spelt is not None:
                    spelt[number] = "\t".join(cells)
                yield self.example(cells, number)
            else:
                skipped.blank_lines += 1
                skipped.first_blank = skipped.first_blank or number
                if self._prediction and first:  # nothing is given out from a file of blank lines
                    yield Example((), line=number)
        if not any_example:
            blank = f"all {number} lines are blank" if number else "the file is empty"
            reason = "there is a header only" if skipped.header else blank
            self.fail(f"no examples: {reason}")

    def _rows(
        self, first: str, lines: Iterator[str], skipped: Skipped
    ) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the cells of each line, no cells for a blank one.

        A table of a spreadsheet, which has a header or is called .csv, is read with its quotation
        marks; in other files a quotation mark is a character. A header is left out.
        """
        is_csv = self.file.lower().removesuffix(".gz").endswith(".csv")
        delimiter = max(",;\t", key=first.count) if is_csv else "\t"
        try:
            cells = next(csv.reader([first], delimiter=delimiter), [])
        except csv.Error:  # a cell of 100,000 characters
            cells = []
        kinds = _headings(cells, self.columns)
        if not is_csv and not kinds:
            for number, line in enumerate(lines, start=1):
                blank = not line or (line.isspace() and "\t" not in line)
                yield number, [] if blank else line.split("\t")
            return
        if kinds != list(self.columns) and sorted(kinds) == sorted(self.columns):
            self.fail(
                f"the header says {', '.join(cells)}, but the columns are read as "
                f"{', '.join(self.columns)}; give --columns {','.join(kinds)}"
            )
        skipped.header = ", ".join(cells) if kinds else ""
        start = 1
        reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
        try:
            for row in reader:
                if any("\n" in cell or "\t" in cell for cell in row):
                    self.fail("a cell with a line break or TAB in quotation marks", start)
                if kinds and any(row):
                    kinds = []  # this was the header
                else:
                    yield start, row if any(row) else []
                start = reader.line_num + 1
        except csv.Error as error:
            self.fail(f"quotation marks that do not match ({error}); mend or remove them", start)


def _peek(lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """Return the first line that is not blank, or nothing, and all lines."""
    blank = 0
    for line in lines:
        if line.strip():
            return line, chain(repeat("", blank), [line], lines)
        blank += 1
    return "", repeat("", blank)


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


@dataclass(frozen=True)
class CorpusOrigin:
    """The arguments of ``load_corpus`` that give the corpus again."""

    corpus: str
    seed: int = 0
    stress: bool = True
    size: int | None = None
    normalization: str = "NFC"
    target_parts: bool = False


@dataclass(frozen=True)
class FileOrigin:
    """A file, or ``memory``, with what was read from it; one that has moved is still the same."""

    file: str = field(compare=False)
    examples: int
    sha256: str  # of the examples, as they were read


@dataclass(frozen=True)
class Origin:
    """Where training and development data came from: from one corpus or from two files."""

    corpus: CorpusOrigin | None = None
    train: FileOrigin | None = None
    dev: FileOrigin | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON: what is there, and a corpus without a key of its own."""
        if self.corpus is not None:
            return asdict(self.corpus)
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, values: object) -> Origin:
        """Rebuild what ``to_dict`` returned, or raise a ``HardalignError`` if it is damaged."""
        if isinstance(values, dict) and "corpus" in values:
            values = {"corpus": values}
        return build_record(cls, values, "the origin of the data")
