"""The lines of a text file: plain or gzip, from disk or standard input, in constant memory."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from hardalign.errors import InputError

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
