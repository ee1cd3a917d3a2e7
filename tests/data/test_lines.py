import gzip
import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardalign.data import reading
from hardalign.data.reading import file_name, read_lines
from hardalign.errors import InputError


@pytest.fixture
def file(tmp_path):
    """Gives a file with the given bytes."""

    def write(content: bytes) -> Path:
        path = tmp_path / "file"
        path.write_bytes(content)
        return path

    return write


@pytest.fixture
def stdin(monkeypatch):
    """Puts bytes on standard input."""

    def write(content: bytes) -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return "-"

    return write


def test_names():
    assert file_name("-") == "standard input"
    assert file_name(Path("a/b")) == "a/b"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\n\r\n\nb", ["a", "", "", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\r\r\n", ["a\r"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\n", [""]),
        (b'"a\n"\n', ['"a', '"']),
        (b"<s>\x00[PAD]\n", ["<s>\x00[PAD]"]),
    ],
)
def test_lines(file, stdin, content, expected):
    assert list(read_lines(file(content))) == expected
    assert list(read_lines(file(gzip.compress(content)))) == expected
    assert list(read_lines(stdin(content))) == expected
    assert list(read_lines(stdin(gzip.compress(content)))) == expected


def test_other_unicode_line_ends_are_characters(file):
    text = "a\u2028b\u2029c\x0bd\x0ce\x1cf\x85g"
    assert list(read_lines(file(f"{text}\n".encode()))) == [text]


def test_concatenated_gzip(file, stdin):
    content = gzip.compress(b"a\nb") + gzip.compress(b"c\nd\n")
    assert list(read_lines(file(content))) == ["a", "bc", "d"]
    assert list(read_lines(stdin(content))) == ["a", "bc", "d"]


@settings(deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_round_trip(tmp_path_factory, texts, end, zipped):
    content = "".join(text + end for text in texts).encode("utf-8-sig" if texts else "utf-8")
    path = tmp_path_factory.getbasetemp() / "round-trip"
    path.write_bytes(gzip.compress(content) if zipped else content)
    assert list(read_lines(path)) == texts


def test_a_pipe_is_read_as_it_comes():
    """A line is given out before the next one is written, even if its bytes trickle in."""
    program = (
        "from hardalign.data.reading import read_lines\n"
        "for line in read_lines('-'): print(line, flush=True)"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe) as process:
        for text in (b"h", b"allo\n"):
            process.stdin.write(text)
            process.stdin.flush()
        assert process.stdout.readline() == b"hallo\n"
        process.stdin.write(b"welt")
        process.stdin.close()
        assert process.stdout.readline() == b"welt\n"


@pytest.mark.parametrize("zipped", [False, True])
def test_invalid_utf8_names_the_line(file, zipped):
    content = b"gut\nna\xefve\n"
    path = file(gzip.compress(content) if zipped else content)
    reader = read_lines(path)
    assert next(reader) == "gut"
    with pytest.raises(InputError) as caught:
        next(reader)
    assert caught.value.line == 2
    assert str(caught.value).startswith(f"{path}, line 2: not UTF-8: byte 0xef at position 3")


@pytest.mark.parametrize("content", ["a\tb".encode("utf-16"), b"\xed\xa0\x80", b"a\xc3"])
def test_other_encodings(stdin, content):
    with pytest.raises(InputError, match=r"standard input, line 1: not UTF-8.*convert"):
        list(read_lines(stdin(content)))


ZIPPED = gzip.compress(b"".join(b"%d\n" % number for number in range(10_000)))


@pytest.mark.parametrize(
    "content",
    [
        ZIPPED[:-20],
        ZIPPED[:2],
        ZIPPED[:1],
        ZIPPED[:-8] + b"\0" * 8,
        ZIPPED[:200] + b"\xff" * 100 + ZIPPED[300:],
        ZIPPED + b"more",
    ],
    ids=["truncated", "magic only", "one byte", "checksum", "garbled", "trailing"],
)
def test_damaged_gzip(file, stdin, content):
    with pytest.raises(InputError, match="damaged gzip"):
        list(read_lines(file(content)))
    with pytest.raises(InputError, match=r"standard input.*damaged gzip"):
        list(read_lines(stdin(content)))


def test_a_line_without_end_does_not_fill_the_memory(file, monkeypatch):
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 100)
    assert list(read_lines(file(b"x" * 99))) == ["x" * 99]
    with pytest.raises(InputError, match="line 2: the line is longer than 100 bytes"):
        list(read_lines(file(b"a\n" + b"x" * 100)))


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="nix: no such file"):
        list(read_lines(tmp_path / "nix"))


def test_folder(tmp_path):
    with pytest.raises(InputError, match="this is a folder; name a file"):
        list(read_lines(str(tmp_path)))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(13, "Permission denied"), "permission denied; make the file readable"),
        (OSError(5, "Input/output error"), r"cannot be read \(Input/output error\)"),
    ],
)
def test_unreadable_file(file, monkeypatch, error, message):
    path = file(b"a\n")

    def refuse(*_):
        raise error

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=message):
        list(read_lines(path))
