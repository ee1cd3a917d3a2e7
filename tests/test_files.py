from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pytest import MonkeyPatch as Monkey  # noqa: PT013

from hardalign.errors import HardalignError
from hardalign.files import (
    FRAGMENT,
    make_folder,
    remove_fragments,
    whole_file,
    write_bytes,
)
from hardalign.records import read_json, write_json


def test_nothing_appears_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with whole_file(path) as file:
        file.write(b"half")
        assert not path.exists()
    assert path.read_bytes() == b"half"
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_stood_there_stays(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(error), whole_file(path) as file:  # noqa: PT012
        file.write(b"new")
        raise error
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("file", b"old")]


def fail(*_: Any, **__: Any) -> NoReturn:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    "broken", [(os, "fsync"), (os, "open"), (Path, "replace"), (Path, "chmod"), (os, "fdopen")]
)
@pytest.mark.parametrize("before", [None, b"old"])
def test_whatever_fails_the_old_content_stays(
    broken: tuple[object, str], before: bytes | None, tmp_path: Path, monkeypatch: Monkey
) -> None:
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)
    elif broken == (Path, "chmod"):
        return  # what is new has the mode that the system gives it
    with monkeypatch.context() as patch:
        patch.setattr(*broken, fail)
        with pytest.raises(HardalignError, match=r"file: cannot be written: No space left"):
            write_bytes(path, b"new")
    contents = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert contents == ({} if before is None else {"file": before})


def test_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(HardalignError, match=r"cannot be written: No space left"):  # noqa: SIM117
        with whole_file(path):
            fail()
    assert not list(tmp_path.iterdir())
    with pytest.raises(HardalignError, match=r"/dev/full: cannot be written: No space left"):
        write_bytes(Path("/dev/full"), b"new")


def test_the_advice_fits_what_is_wrong(tmp_path: Path) -> None:
    for path, advice in (
        (tmp_path / "no" / "file", "No such file or directory; make its folder first"),
        (tmp_path, "Is a directory; this is a folder; name a file"),
        (Path("/dev/full"), "free some space"),
        (tmp_path / ("x" * 300), "File name too long; choose another place"),
    ):
        with pytest.raises(HardalignError, match=advice):
            write_bytes(path, b"x")


def test_folders_are_synced_where_they_can_be(tmp_path: Path, monkeypatch: Monkey) -> None:
    synced = []
    sync = os.fsync

    def watch(handle: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        if synced[-1]:
            fail()  # some file systems cannot
        sync(handle)

    monkeypatch.setattr(os, "fsync", watch)
    write_bytes(tmp_path / "file", b"new")
    assert synced == [False, True]
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_mode(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    with whole_file(path) as file:
        file.write(b"new")
        (fragment,) = tmp_path.glob(f".*{FRAGMENT}")
        assert stat.S_IMODE(fragment.stat().st_mode) & ~mode == 0  # nobody else may read it
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_links_go_on_pointing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/file")
    (tmp_path / "other").symlink_to("link")
    for content in (b"one", b"two"):
        write_bytes(tmp_path / "other", content)
        assert (tmp_path / "folder" / "file").read_bytes() == content
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "other").is_symlink()
    assert len(list((tmp_path / "folder").iterdir())) == 1


def test_devices_and_pipes_are_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        write_bytes(pipe, b"through the pipe")
        assert reader.communicate()[0] == b"through the pipe"
    assert pipe.is_fifo()
    write_bytes(Path("/dev/null"), b"nowhere")
    assert Path("/dev/null").is_char_device()
    code = "from hardalign.files import *; write_bytes(Path('/dev/stdout'), b'here')"
    with (tmp_path / "out").open("wb") as out:
        node = os.fstat(out.fileno()).st_ino
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"here"
    assert (tmp_path / "out").stat().st_ino == node


@pytest.mark.parametrize("length", [1, 200, 255])
def test_long_names(length: int, tmp_path: Path) -> None:
    write_bytes(tmp_path / ("n" * length), b"new")
    assert (tmp_path / ("n" * length)).read_bytes() == b"new"
    for write in (write_json, lambda path, _: make_folder(path)):
        with pytest.raises(HardalignError, match="cannot be written: File name too long"):
            write(tmp_path / ("n" * 300), {})
    with pytest.raises(HardalignError, match="cannot be read: File name too long"):
        read_json(tmp_path / ("n" * 300))


def killed_while_writing(path: Path) -> None:
    code = (
        "import os, sys, signal; from hardalign.files import *\n"
        "with whole_file(Path(sys.argv[1])) as file: os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, path])


def test_fragments_of_killed_processes_are_removed(tmp_path: Path) -> None:
    for name in ("file", "n" * 255):
        killed_while_writing(tmp_path / name)
    (tmp_path / ".mine").touch()
    assert len(list(tmp_path.iterdir())) == 3
    remove_fragments(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".mine"]


def test_who_writes_a_file_removes_its_fragments(tmp_path: Path) -> None:
    killed_while_writing(tmp_path / "file")
    killed_while_writing(tmp_path / "other")
    write_bytes(tmp_path / "file", b"new")
    fragment, file = sorted(path.name for path in tmp_path.iterdir())
    assert fragment.startswith(".other.")
    assert file == "file"


def test_the_fragments_of_the_living_stay(tmp_path: Path, monkeypatch: Monkey) -> None:
    path = tmp_path / "file"
    with whole_file(path) as file:
        file.write(b"first")
        write_bytes(path, b"second")
        assert path.read_bytes() == b"second"
    # Also when all is written and only the name is wrong.
    monkeypatch.setattr(Path, "chmod", lambda *_: remove_fragments(tmp_path))
    write_bytes(path, b"third")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("file", b"third")]


def test_a_fragment_that_is_removed_before_it_is_locked(
    tmp_path: Path, monkeypatch: Monkey
) -> None:
    lock, removed = fcntl.flock, []

    def late(handle: int, operation: int) -> None:
        if not removed:
            monkeypatch.setattr(fcntl, "flock", lock)
            removed.extend(tmp_path.iterdir())
            remove_fragments(tmp_path)
        lock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    write_bytes(tmp_path / "file", b"new")
    assert len(removed) == 1
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("file", b"new")]


def test_where_there_are_no_locks(tmp_path: Path, monkeypatch: Monkey) -> None:
    """Windows has none of this kind, and some file systems have none at all."""
    monkeypatch.setattr(fcntl, "flock", fail)
    write_bytes(tmp_path / "file", b"new")
    monkeypatch.setattr("hardalign.files.fcntl", None)
    write_bytes(tmp_path / "file", b"newer")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("file", b"newer")]


def test_unwritable_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HardalignError, match="cannot be written"):
        make_folder(tmp_path / "file" / "folder")
