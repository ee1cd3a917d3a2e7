"""Commands in their own processes, forked from this one so that they start at once."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import torch

from hardalign.cli import main as cli

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_HELD = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True)
class End:
    """How a process ended."""

    status: int
    """Its exit status, or the negative number of the signal that ended it."""
    killed: bool
    """Whether our signal ended it."""
    seconds: float
    log: str


def run(
    arguments: Sequence[object],
    log: Path,
    kill: signal.Signals | None = None,
    after: float = 0.0,
) -> End:
    """Runs ``hardalign`` in another process; kills it ``after`` some seconds, if it still runs.

    Signals are blocked until the command begins: before that Python itself would handle them.
    """
    torch.set_num_threads(1)  # threads do not survive a fork
    started = time.monotonic()
    signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    child = os.fork()
    if child == 0:
        _become([str(one) for one in arguments], log)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)
    if kill is not None:
        _sleep(child, after)
        os.kill(child, kill)  # not waited for yet, so the id is still its own
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    killed = kill is not None and code in (-kill, 128 + kill)
    return End(code, killed, time.monotonic() - started, log.read_text(errors="replace"))


def _sleep(child: int, seconds: float) -> None:
    """Sleeps, but not beyond the end of the process, which is not reaped."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        if os.waitid(os.P_PID, child, options) is not None:
            return
        time.sleep(min(left, 0.002))


def _become(arguments: list[str], log: Path) -> None:
    """Turns this process into the command; does not return."""
    status = 70
    try:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(handle, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        sys.stdin = os.fdopen(0, "r", closefd=False)
        sys.argv = ["hardalign", *arguments]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        dispatch = cli._dispatch

        def begin(given: list[str]) -> None:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)
            dispatch(given)

        with mock.patch("hardalign.cli.main._dispatch", begin):
            cli.main()
        status = 0
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
