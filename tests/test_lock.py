from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hardalign.lock import BusyError, locked

HOLD = """
import sys
from pathlib import Path
from hardalign.lock import locked
with locked(Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(folder: Path, command: str) -> subprocess.Popen[str]:
    """A process that holds a folder's lock until it is killed or its input ends."""
    arguments = [sys.executable, "-c", HOLD, str(folder), command]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_another_command_is_busy(tmp_path: Path) -> None:
    with hold(tmp_path, "one") as process:
        with pytest.raises(BusyError), locked(tmp_path, "other"):
            pass
        process.kill()
    # Its death leaves nothing behind.
    with locked(tmp_path, "other"):
        pass


def test_a_retry_waits_for_its_predecessor(tmp_path: Path) -> None:
    with hold(tmp_path, "one") as first:
        arguments = [sys.executable, "-c", HOLD, str(tmp_path), "one"]
        with subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ) as second:
            with pytest.raises(subprocess.TimeoutExpired):
                second.wait(1.0)
            first.kill()
            assert second.communicate(timeout=60)[0] == "held\n"


def test_released_at_the_end(tmp_path: Path) -> None:
    for command in ("one", "other"):
        with locked(tmp_path / "new", command):
            pass
