from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from corpora.file_server import FileServer, serving
from hardalign.corpora.download import BLOCK, RefusedError, ResumingDownload

CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(CONTENT) as running:
        yield running


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return tmp_path / "file.part"


def download(server: FileServer, part: Path) -> bytes:
    """One attempt; what it brought."""
    output = part.with_name("output")
    ResumingDownload(part, timeout=5)(f"{server.address}/file", str(output), None)
    assert not part.exists()
    return output.read_bytes()


def test_whole(server: FileServer, part: Path) -> None:
    assert download(server, part) == CONTENT
    assert server.requests == [("/file", None)]


@pytest.mark.parametrize("have", [1, 65536, len(CONTENT) - 1])
def test_asks_for_the_rest_only(have: int, server: FileServer, part: Path) -> None:
    part.write_bytes(CONTENT[:have])
    assert download(server, part) == CONTENT
    assert server.requests == [("/file", f"bytes={have}-")]


def test_keeps_what_came_before_the_connection_broke_off(server: FileServer, part: Path) -> None:
    server.manners = ["truncated", "truncated", "whole"]
    for have in (len(CONTENT) // 2, len(CONTENT) * 3 // 4):
        with pytest.raises(requests.RequestException):
            download(server, part)
        kept = part.read_bytes()
        assert kept == CONTENT[: len(kept)]
        assert have - 2 * BLOCK < len(kept) <= have
    assert download(server, part) == CONTENT


def test_a_server_without_ranges_begins_again(server: FileServer, part: Path) -> None:
    server.manners = ["no ranges"]
    part.write_bytes(CONTENT[:1000])
    assert download(server, part) == CONTENT


def test_a_part_as_long_as_the_file_is_thrown_away(server: FileServer, part: Path) -> None:
    part.write_bytes(CONTENT)
    with pytest.raises(requests.HTTPError):
        download(server, part)
    assert not part.exists()


@pytest.mark.parametrize("status", [403, 404, 410])
def test_refused(status: int, server: FileServer, part: Path) -> None:
    server.manners = [str(status)]
    part.write_bytes(b"begun")
    with pytest.raises(RefusedError, match=f"answers {status}"):
        download(server, part)
    assert part.read_bytes() == b"begun"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_may_be_asked_again(status: int, server: FileServer, part: Path) -> None:
    server.manners = [str(status)]
    with pytest.raises(requests.HTTPError):
        download(server, part)
    assert not part.exists()
