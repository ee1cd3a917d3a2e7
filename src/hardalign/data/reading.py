"""Read examples from files, and record where data came from."""

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
"""Maximum length of a line: a file without line ends must not fill the memory."""
HEADINGS = {
    "source": "source|input|words?|spelling|letters|graphemes?|orthography|lemma|name",
    "target": "target|output|phonemes?|phones|pron(unciations?)?|transcription|ipa|form"
    "|transliteration",
    "tags": "tags?|features?|feats|msd|morphology",
}
"""Regular expressions for column names, to recognise a header line."""
Purpose = Literal["training", "evaluation", "prediction"]
"""What examples are read for; all but prediction need targets."""
_REASONS = {
    FileNotFoundError: "no such file; check the name",
    IsADirectoryError: "this is a folder; name a file",
    PermissionError: "permission denied; make the file readable",
}


def file_name(file: str | Path) -> str:
    """Return a file's name for messages."""
    return "standard input" if str(file) == "-" else str(file)


def read_lines(file: str | Path) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file without their line ends.

    ``-`` is standard input. Gzip is recognised by its first bytes. Lines end in ``\n`` or ``\r\n``
    only: other Unicode line breaks are text. A byte order mark at the beginning is dropped.
    """
    name = file_name(file)
    number = 0
    try:
        with _open(file) as stream:
            while raw := stream.readline(MAX_LINE_BYTES):
                if number == 0:
                    raw = raw.removeprefix(codecs.BOM_UTF8)
                    if not raw:  # nothing but the mark
                        return
                number += 1
                if len(raw) >= MAX_LINE_BYTES:
                    message = f"the line is longer than {MAX_LINE_BYTES} bytes; is this text?"
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
def _open(file: str | Path) -> Iterator[io.BufferedReader]:
    # Standard input is not ours to close.
    with nullcontext(sys.stdin.buffer) if str(file) == "-" else Path(file).open("rb") as stream:
        # A second buffer around a real stream would wait for a full block, and hold up interactive
        # input. A substitute for standard input must be wrapped to have peek().
        if not isinstance(reader := stream, io.BufferedReader):
            reader = io.BufferedReader(cast(io.RawIOBase, stream))
        # A pipe may have delivered one byte so far; no text begins with this control character.
        if reader.peek(2)[:2] in (b"\x1f\x8b", b"\x1f"):
            unzipped = gzip.GzipFile(fileobj=reader)
            reader = io.BufferedReader(cast(io.RawIOBase, unzipped), 1 << 16)
        yield reader


@dataclass
class Skipped:
    """Lines that were skipped, for a remark to the user."""

    blank_lines: int = 0
    first_blank: int = 0  # line number
    header: str = ""

    def report(self, file: str | Path, what_happened: str) -> str | None:
        """Return a one-line report of a file's header and blank lines, or None."""
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
    """Yield the examples of a file, in constant memory unless it is XML.

    For training and evaluation, every example needs a target, and blank lines are skipped. For
    prediction, the target may be empty or missing (leaving the source, and the tags if the format
    has them), a blank line yields an example without symbols, so that output matches input line by
    line, and a ``news`` file that does not begin with ``<`` is read as a list of names.

    ``allow_empty`` accepts empty targets. ``skipped`` collects the skipped lines, and ``spelt`` the
    cells of every example, joined by TABs, by line number.
    """
    if purpose != "prediction" and "target" not in format.columns:
        columns = f"the columns are {','.join(format.columns)!r}"
        raise HardalignError(f"{purpose} needs a target, but {columns}; name one of them target")
    cutter = _Cutter(file_name(file), format, purpose == "prediction", allow_empty)
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
    """Yield the examples of rows in memory, which have one string per column of the format.

    >>> next(examples_of([("cat", "K AE T")], FORMATS["lexicon"])).targets
    (('K', 'AE', 'T'),)
    """
    cutter = _Cutter(name, format, False, allow_empty)
    for number, row in enumerate(rows, start=1):
        if isinstance(row, (str, bytes, Mapping)) or not hasattr(row, "__len__"):
            cutter.fail(f"a row must be a sequence of strings, not {row!r:.50}", number)
        if number == 1 and cutter.is_header(row):
            cutter.fail(f"{', '.join(row)} is a header; leave it out", number)
        yield cutter.example(row, number)


class _Cutter:
    """Cuts the cells of a file into examples; its errors name file, line and column."""

    def __init__(self, file: str, layout: Format, prediction: bool, allow_empty: bool) -> None:
        self.file, self.columns = file, layout.columns
        self._prediction, self._allow_empty = prediction, allow_empty
        self._layouts = {len(self.columns): self.columns}  # by number of columns
        if prediction:
            bare = tuple(column for column in self.columns if column in ("source", "tags"))
            self._layouts.setdefault(len(bare), bare)
        self._cut = {
            "source": layout.source_symbols,
            "target": layout.target_symbols,
            "tags": layout.tag_symbols,
        }

    def fail(self, message: str, line: int | None = None, column: int | None = None) -> NoReturn:
        raise InputError(message, file=self.file, line=line, column=column)

    def example(self, cells: Sequence[str], line: int) -> Example:
        """Return the example of a line."""
        columns = self._layouts.get(len(cells))
        if columns is None:
            self._refuse_width(cells, line)
        cut = {
            kind: self._symbols(kind, cells[k], line, k + 1)
            for k, kind in enumerate(columns)
            if kind != "-"
        }
        target = cut.get("target", ())
        targets = (target,) if target or not self._prediction else ()
        text = cells[columns.index("source")]
        return Example(cut["source"], targets, cut.get("tags", ()), text, line)

    def _symbols(self, kind: str, text: str, line: int, column: int | None = None) -> Symbols:
        try:
            symbols = self._cut[kind](text)
        except HardalignError as error:
            self.fail(str(error), line, column)
        if not symbols and kind == "source":
            self.fail("the source is empty; fill it in, or check format and columns", line, column)
        if not symbols and kind == "target" and not self._prediction and not self._allow_empty:
            self.fail("the target is empty; fill it in, or allow it with allow_empty", line, column)
        return symbols

    def _refuse_width(self, cells: Sequence[str], line: int) -> NoReturn:
        expected = " or ".join(
            f"{count} TAB-separated column{'s' * (count > 1)} ({', '.join(columns)})"
            for count, columns in self._layouts.items()
        )
        shown = shorten("\t".join(map(str, cells)))  # rows in memory may hold anything
        advice = "choose another --format or name the --columns"
        if len(cells) == 1 and shown.count(",") + 1 in self._layouts:
            advice = "are they separated by commas? name the file .csv, or write TABs"
        self.fail(f"expected {expected}, found {len(cells)} in {shown}; {advice}", line)

    def names(self, lines: Iterable[str]) -> Iterator[Example]:
        """Yield the examples of NEWS XML."""
        names = read_names(lines, self.file)
        for line, text, spellings in names:
            source = self._symbols("source", text, line)
            targets = [self._symbols("target", spelling, line) for spelling in spellings]
            if not targets and not self._prediction:
                self.fail(f"the name {shorten(text)} has no <TargetName>; add one", line)
            kept = tuple(target for target in targets if target or not self._prediction)
            yield Example(source, kept, (), text, line)
        if not names:
            self.fail("no examples: there is no <Name> in the file")

    def table(
        self, first: str, lines: Iterator[str], skipped: Skipped, spelt: dict[int, str] | None
    ) -> Iterator[Example]:
        """Yield the examples of a table; ``first`` is its first non-blank line."""
        number, header_may_come, any_example = 0, True, False
        for number, cells in self._rows(first, lines):
            if not cells:
                skipped.blank_lines += 1
                skipped.first_blank = skipped.first_blank or number
                if self._prediction and first:  # a file of blank lines is an error instead
                    yield Example((), line=number)
            elif header_may_come and self.is_header(cells):
                skipped.header = ", ".join(cells)
            else:
                any_example = True
                if spelt is not None:
                    spelt[number] = "\t".join(cells)
                yield self.example(cells, number)
            header_may_come = header_may_come and not cells
        if not any_example:
            blank = f"all {number} lines are blank" if number else "the file is empty"
            reason = "there is a header only" if skipped.header else blank
            self.fail(f"no examples: {reason}")

    def _rows(self, first: str, lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and cells of each line; a blank line has no cells.

        Quotation marks delimit cells in spreadsheet tables, which are named .csv or have a header;
        in other files they are ordinary characters.
        """
        is_csv = self.file.lower().removesuffix(".gz").endswith(".csv")
        delimiter = max(",;\t", key=first.count) if is_csv else "\t"
        if not is_csv and not self.is_header([cell.strip('"') for cell in first.split("\t")]):
            for number, line in enumerate(lines, start=1):
                blank = not line or (line.isspace() and "\t" not in line)
                yield number, [] if blank else line.split("\t")
            return
        reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
        start = 1
        try:
            for row in reader:
                if any("\n" in cell or "\t" in cell for cell in row):
                    self.fail("a cell with a line break or TAB in quotation marks", start)
                yield start, row if any(row) else []
                start = reader.line_num + 1
        except csv.Error as error:
            advice = "fix them" if is_csv else "fix them, or leave out the header to keep them"
            self.fail(f"quotation marks that do not match ({error}); {advice}", start)

    def is_header(self, cells: Sequence[str]) -> bool:
        """Whether the cells name the columns; an error if they do so in another order."""
        words = [str(cell).strip().casefold() for cell in cells]
        kinds = [
            next((kind for kind, names in HEADINGS.items() if re.fullmatch(names, word)), "-")
            for word in words
        ]
        named = dict(zip(kinds, words, strict=True))
        source, target = named.get("source", ""), named.get("target", "")
        if sorted(kinds) != sorted(self.columns) or not source or not target:
            return False
        if source.startswith(target) or target.startswith(source):  # phoneme, phonemes
            return False
        if kinds != list(self.columns):
            self.fail(
                f"the header says {', '.join(cells)}, but the columns are read as "
                f"{', '.join(self.columns)}; give --columns {','.join(kinds)}"
            )
        return True


def _peek(lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """Return the first non-blank line (or an empty string), and an iterator over all lines."""
    blank = 0
    for line in lines:
        if line.strip():
            return line, chain(repeat("", blank), [line], lines)
        blank += 1
    return "", repeat("", blank)


@dataclass(frozen=True)
class CorpusOrigin:
    """The arguments of ``load_corpus``."""

    corpus: str
    seed: int = 0
    stress: bool = True
    size: int | None = None
    normalization: str = "NFC"
    target_parts: bool = False


@dataclass(frozen=True)
class FileOrigin:
    """A file, or ``memory``, with a checksum; names are not compared, so a moved file is equal."""

    file: str = field(compare=False)
    examples: int
    sha256: str  # of the examples


@dataclass(frozen=True)
class Origin:
    """Where training and development data came from: a corpus, or two files."""

    corpus: CorpusOrigin | None = None
    train: FileOrigin | None = None
    dev: FileOrigin | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON: the fields of the corpus, or a record for each file."""
        if self.corpus is not None:
            return asdict(self.corpus)
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, values: object) -> Origin:
        """Rebuild what ``to_dict`` returned; raise a ``HardalignError`` if it is damaged."""
        if isinstance(values, dict) and "corpus" in values:
            values = {"corpus": values}
        return build_record(cls, values, "the origin of the data")
