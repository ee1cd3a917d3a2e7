from __future__ import annotations

import fcntl
import os
import socket
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pytest import MonkeyPatch as Monkey  # noqa: PT013

from hardalign.errors import HardalignError
from hardalign.files import (
    FRAGMENT,
    HOLDER,
    LOCK,
    BusyError,
    build_record,
    locked,
    make_folder,
    read_json,
    remove_fragments,
    whole_file,
    write_bytes,
    write_json,
)


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


@dataclass(frozen=True)
class Bird:
    name: str
    weight: float
    eggs: int = 2
    songs: tuple[str, ...] = ()
    places: dict[str, int] = field(default_factory=dict)
    ring: str | None = None


def test_json_round_trip_keeps_every_script(tmp_path: Path) -> None:
    value = {"नमस्ते": ["한글", "e\u0301", None, 1.5, "no\udcffUTF-8"]}
    write_json(tmp_path / "a.json", value)
    assert read_json(tmp_path / "a.json") == value


def test_json_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(HardalignError, match=r"a\.json: no such file"):
        read_json(path)
    path.write_bytes(b'{"a": ')
    with pytest.raises(HardalignError, match=r"a\.json: cannot be read as JSON"):
        read_json(path)


def test_a_record_comes_back() -> None:
    values = {
        "name": "wren",
        "weight": 9,
        "songs": ["tic", "zrr"],
        "places": {"a": 1},
        "ring": None,
    }
    assert build_record(Bird, values, "a bird") == Bird(
        "wren", 9, 2, ("tic", "zrr"), {"a": 1}, None
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 1}, "a bird is damaged: Expected `str`, got `int` - at `\\$.name`"),
        ({"weight": True}, "weight"),
        ({"eggs": True}, "eggs"),
        ({"eggs": 1.5}, "eggs"),
        ({"songs": "tic"}, "songs"),
        ({"songs": ["tic", 1]}, "songs"),
        ({"places": {"a": "b"}}, "places"),
        ({"ring": 5}, "ring"),
        ({"colour": "red"}, "a bird has an unknown entry 'colour'"),
    ],
)
def test_damaged_values(change: dict[str, object], message: str) -> None:
    with pytest.raises(HardalignError, match=message):
        build_record(Bird, {"name": "wren", "weight": 9.0, **change}, "a bird")


def test_what_may_be_missing_or_too_much() -> None:
    with pytest.raises(HardalignError, match="missing required field `weight`"):
        build_record(Bird, {"name": "wren"}, "a bird")
    with pytest.raises(HardalignError, match="got `null`"):
        build_record(Bird, None, "a bird")
    extra = {"name": "wren", "weight": 9.0, "colour": "red"}
    assert build_record(Bird, extra, "a bird", extra=True) == Bird("wren", 9.0)


HOLD = """
import sys
from pathlib import Path
from hardalign.files import locked
with locked(Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


def start(folder: Path, holder: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", HOLD, str(folder), holder]
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def hold(folder: Path, holder: str) -> subprocess.Popen[str]:
    """A process that holds a folder's lock until it is killed or its input ends."""
    process = start(folder, holder)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_is_told_who_the_first_is(tmp_path: Path) -> None:
    with hold(tmp_path, "one") as process:
        with pytest.raises(BusyError) as caught, locked(tmp_path, "other"):
            pass
        for word in (f"process {process.pid} on {socket.gethostname()}", "-c", str(tmp_path)):
            assert word in str(caught.value)
        process.kill()
    # Its death leaves nothing in the way.
    with locked(tmp_path, "other"):
        pass


def test_a_retry_waits_for_its_predecessor(tmp_path: Path) -> None:
    with hold(tmp_path, "one") as first, start(tmp_path, "one") as second:
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(1.0)
        first.kill()
        assert second.communicate("", timeout=60)[0] == "held\n"


def test_one_process_has_it_only_once(tmp_path: Path) -> None:
    with locked(tmp_path, "one"):  # noqa: SIM117
        with pytest.raises(BusyError, match=str(os.getpid())), locked(tmp_path, "other"):
            pass


def test_released_at_the_end(tmp_path: Path) -> None:
    for holder in ("one", "other"):
        with locked(tmp_path / "new", holder):
            assert (tmp_path / "new" / HOLDER).exists()
    assert [path.name for path in (tmp_path / "new").iterdir()] == [LOCK]


@pytest.mark.parametrize("record", ["", "[]", "{}", '{"holder": 1}'])
def test_a_damaged_record_is_no_trouble(record: str, tmp_path: Path) -> None:
    with hold(tmp_path, "one") as process:
        (tmp_path / HOLDER).write_text(record)
        with pytest.raises(BusyError, match="another process is at work"), locked(tmp_path, "two"):
            pass
        process.kill()


def test_folders_that_cannot_be_locked(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / LOCK).mkdir()
    for folder in (tmp_path / "file", tmp_path):
        with pytest.raises(HardalignError, match=r"cannot be w|is a file"), locked(folder, "one"):
            pass


def test_a_holder_that_is_a_pipe_or_a_link_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / HOLDER)  # opening it would wait for ever
    with locked(tmp_path, "one"):
        assert (tmp_path / HOLDER).is_file()
        (tmp_path / HOLDER).unlink()
        os.mkfifo(tmp_path / HOLDER)
        with pytest.raises(BusyError, match="another process"), locked(tmp_path, "other"):
            pass
    (tmp_path / "mine").write_text("mine")
    (tmp_path / HOLDER).symlink_to("mine")
    with locked(tmp_path, "one"):
        pass
    assert (tmp_path / "mine").read_text() == "mine"
