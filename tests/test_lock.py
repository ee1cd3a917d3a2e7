from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hardalign.errors import HardalignError
from hardalign.lock import HOLDER, LOCK, BusyError, locked

HOLD = """
import sys
from pathlib import Path
from hardalign.lock import locked
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
