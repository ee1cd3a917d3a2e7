"""Runs a command in this process, hundreds of times a minute, and checks how it ends.

A command may exit with 0, 1 or 2; with 2, it says why in a line that begins with its name. It may
not end with a traceback, take longer than ``SECONDS`` of processor time, or allocate more than
``MEMORY`` beyond what the process had when the limit was set.
"""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import io
import os
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn
from unittest import mock

from hardalign.cli.main import command, main

SECONDS = 20.0
"""Processor time, which a busy machine does not lengthen."""
MEMORY = 1 << 30
"""Bytes of address space."""
STATUSES = (0, 1, 2)
REPORTS = ("info", "check", "errors", "evaluate", "analyze")
"""Commands whose output is for people: no escape sequences from data or models allowed."""


class Hang(BaseException):
    """A command took too long; nothing may catch it."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int | None
    """None if it did not exit by itself."""
    out: bytes
    err: str
    trouble: str | None
    """What is wrong with that, if anything."""

    @property
    def place(self) -> str:
        """Where the trouble came from, to tell kinds apart."""
        lines = (self.trouble or "").splitlines()
        frames = [line.strip() for line in lines if line.strip().startswith("File ")]
        return f"{frames[-1] if frames else ''} {lines[-1][:60] if lines else ''}"


def call(verb: str, *values: Any, folder: Path, stdin: bytes = b"", **options: Any) -> Outcome:
    """Runs a command in some folder, without parsing a command line.

    Parsing takes longer than most of the commands.
    """

    def dispatch(_: list[str]) -> None:
        command(verb)(*values, **options)

    with mock.patch("hardalign.cli.main._dispatch", dispatch):
        outcome = call_line([verb], stdin, folder)
    shown = outcome.err.encode() + (outcome.out if verb in REPORTS else b"")
    if outcome.trouble is None and b"\x1b" in shown:
        return replace(outcome, trouble=f"an escape sequence is printed: {shown[-500:]!r}")
    return outcome


class Full(io.BytesIO):
    """A device without space."""

    def write(self, _: object) -> int:
        """Fails."""
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def call_line(
    arguments: Sequence[str],
    stdin: bytes,
    folder: Path,
    full: Sequence[str] = (),
    before: Callable[[], object] = lambda: None,
) -> Outcome:
    """Runs ``hardalign`` with some arguments, in some folder.

    The streams ``full`` have no space left; ``before`` is called once in the folder.
    """
    kinds = [Full if name in full else io.BytesIO for name in ("stdin", "stdout", "stderr")]
    pairs = zip(kinds, (stdin, b"", b""), strict=True)
    streams = [io.TextIOWrapper(kind(content)) for kind, content in pairs]
    was = sys.argv, sys.stdin, sys.stdout, sys.stderr, warnings.showwarning, Path.cwd()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    code, trouble = None, None
    sys.argv = ["hardalign", *arguments]
    sys.stdin, sys.stdout, sys.stderr = streams
    os.chdir(folder)
    try:
        before()
        with time_limit():
            main()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:
        trouble = traceback.format_exc()
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr, warnings.showwarning, cwd = was
        os.chdir(cwd)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    out, err = (_content(stream) for stream in streams[1:])
    message = err.decode(errors="replace")
    if "stderr" in full:
        return Outcome(code, out, message, trouble)
    return Outcome(code, out, message, trouble or _odd(code, message))


def _content(stream: io.TextIOWrapper) -> bytes:
    with contextlib.suppress(ValueError, OSError):
        stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


def _odd(code: int | None, err: str) -> str | None:
    """Returns what is wrong with an exit without exception."""
    if code not in STATUSES:
        return f"exit status {code}: {err[-500:]}"
    if "Traceback (most recent call last)" in err:
        return f"a traceback is printed: {err[-2000:]}"
    if "not enough memory" in err:
        return f"more than {MEMORY >> 20} MB requested"
    if code == 2 and not err.rstrip("\n").rpartition("\n")[2].startswith("hardalign: "):
        return f"the error is not one line: {err[-500:]}"
    return None


@contextlib.contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Ends a block that takes too long: by an exception or, failing that, with the process."""

    def expire(_number: int, _frame: FrameType | None) -> NoReturn:
        raise Hang(f"more than {seconds:g} seconds")

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, 1), (signal.SIGALRM, signal.ITIMER_REAL, 6))
    before = [signal.signal(number, expire) for number, _, _ in timers]
    faulthandler.dump_traceback_later(seconds * 12, exit=True, file=sys.__stderr__)
    for _, timer, times in timers:
        signal.setitimer(timer, seconds * times)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
        faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def memory_limit(more: int = MEMORY) -> Iterator[None]:
    """Lets this process allocate at most ``more`` bytes beyond what it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _, hard = before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
