from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from data.file_server import FileServer, serving
from hardalign.data.corpora import Collection, RegisteredCorpus, RegisteredFile, fetch_file
from hardalign.data.formats import FORMATS
from hardalign.errors import HardalignError
from hardalign.files import sha256

CONTENT = "".join(f"{number}\t{number}\n" for number in range(20_000)).encode()
FILE = RegisteredFile("train", "tiny/one.train", "data/one", len(CONTENT), sha256(CONTENT))
PUBLIC = Collection(
    "Tiny", "copying", FORMATS["pairs"], "CC0", "nobody", "some/where", "c0ffee", folder="small"
)
CORPUS = RegisteredCorpus("tiny/one", "one", PUBLIC, (FILE,))
PRIVATE = replace(CORPUS, collection=replace(PUBLIC, by_hand="ask its owner"))
PATH = "/some/where/c0ffee/data/one"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARDALIGN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HARDALIGN_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "cache"


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds between attempts, which are not slept."""
    seconds: list[float] = []
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=seconds.append))
    return seconds


@pytest.fixture
def server(cache: Path, naps: list[float]) -> Iterator[FileServer]:
    with serving(CONTENT) as running:
        yield running


def fetch(server: FileServer, timeout: float = 60.0) -> Path:
    return fetch_file(CORPUS, FILE, base=server.address, timeout=timeout)


def left_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_downloads_once(server: FileServer, cache: Path) -> None:
    for _ in range(2):
        path = fetch(server)
        assert path == cache / "tiny" / "one.train"
        assert path.read_bytes() == CONTENT
    assert server.requests == [PATH]
    assert left_in(cache) == {".lock", "tiny/one.train"}


def test_says_nothing_of_its_own(server: FileServer, capfd: pytest.CaptureFixture[str]) -> None:
    server.manners = ["503", "whole"]
    fetch(server)
    assert capfd.readouterr() == ("", "")


def test_tries_again(server: FileServer, cache: Path, naps: list[float]) -> None:
    server.manners = ["truncated", "503", "whole"]
    assert fetch(server).read_bytes() == CONTENT
    assert server.requests == [PATH] * 3
    assert naps == [1, 2]
    assert left_in(cache) == {".lock", "tiny/one.train"}


def test_a_damaged_file_in_the_cache_is_replaced(server: FileServer) -> None:
    fetch(server).write_bytes(CONTENT[:-1])
    assert fetch(server).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("manner", "reason"),
    [
        ("truncated", "connection was lost"),
        ("corrupt", "sha256 differs"),
        ("silent", "within 0.2 seconds"),
        ("stalled", "within 0.2 seconds"),
        ("503", "answers 503 Service Unavailable"),
        ("404", "answers 404 Not Found"),
    ],
)
def test_gives_up(manner: str, reason: str, server: FileServer, cache: Path) -> None:
    server.manners = [manner]
    with pytest.raises(HardalignError, match=reason) as raised:
        fetch(server, timeout=0.2 if "seconds" in reason else 30)
    assert len(server.requests) == 3
    for word in (server.address + PATH, "data_dir", "HARDALIGN_DATA", "tiny/one.train"):
        assert word in str(raised.value)
    assert "\n" not in str(raised.value)
    assert left_in(cache) == {".lock"}


def test_no_network(cache: Path, naps: list[float]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        base = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(HardalignError, match="no network"):
            fetch_file(CORPUS, FILE, base=base)
    assert naps == [1, 2]
    assert left_in(cache) == {".lock"}


def test_runs_that_start_together_download_once(server: FileServer) -> None:
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: fetch(server), range(8)))
    assert {path.read_bytes() for path in paths} == {CONTENT}
    assert len(server.requests) == 1


def test_a_cache_that_cannot_be_written(server: FileServer, cache: Path) -> None:
    cache.mkdir()
    (cache / "tiny").write_text("a file where a folder must be")
    with pytest.raises(HardalignError, match=r"cannot be written.*HARDALIGN_CACHE"):
        fetch(server)


def test_without_the_package(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(HardalignError, match=r"pip install .*\[data\]"):
        fetch_file(CORPUS, FILE)


@pytest.mark.parametrize("place", ["tiny/one.train", "small/one.train", "data/one"])
def test_a_local_copy_needs_no_network(
    place: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "mine" / place
    copy.parent.mkdir(parents=True)
    copy.write_bytes(CONTENT)
    for corpus in (CORPUS, PRIVATE):
        assert fetch_file(corpus, FILE, tmp_path / "mine") == copy
    monkeypatch.setenv("HARDALIGN_DATA", str(tmp_path / "mine"))
    assert fetch_file(CORPUS, FILE) == copy
    (tmp_path / "other").mkdir()
    with pytest.raises(HardalignError, match="never downloaded"):  # the argument is the stronger
        fetch_file(PRIVATE, FILE, tmp_path / "other")
    assert not cache.exists()


def test_a_local_copy_is_checked(cache: Path, tmp_path: Path) -> None:
    copy = tmp_path / "tiny" / "one.train"
    copy.parent.mkdir()
    copy.write_bytes(CONTENT + b"\n")
    with pytest.raises(HardalignError, match=f"{copy}: not the registered.*{FILE.sha256[:12]}"):
        fetch_file(CORPUS, FILE, tmp_path)
    assert fetch_file(CORPUS, replace(FILE, sha256=None), tmp_path) == copy


def test_what_is_not_in_the_folder_is_downloaded(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    path = fetch_file(CORPUS, FILE, tmp_path / "mine", base=server.address)
    assert path.read_bytes() == CONTENT


def test_a_folder_that_is_not_there(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="no such folder"):
        fetch_file(CORPUS, FILE, tmp_path / "none")


def test_what_may_not_be_passed_on_is_never_asked_for(server: FileServer, cache: Path) -> None:
    with pytest.raises(HardalignError, match=r"ask its owner; .* tiny/one\.train .*data_dir"):
        fetch_file(PRIVATE, FILE, base=server.address)
    assert server.requests == []
    assert not cache.exists()
