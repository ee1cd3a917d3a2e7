"""The ``hardalign`` command. Each command's file is imported only when it runs."""

from __future__ import annotations

import errno
import importlib
import io
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from hardalign.errors import HardalignError
from hardalign.version import __version__

COMMANDS = (
    *("train", "predict", "evaluate", "score", "align", "plot", "analyze", "info"),
    *("lexicon", "errors", "compare", "check", "split", "corpora"),
    *("reproduce", "serve", "export", "completion"),
)
"""The commands; each is a function of that name in a module of that name beside this one."""

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS")
"""What keeps NumPy's matrix products on one thread: words are spread over threads, not matrices."""

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that end a line, or do something to a terminal."""


class _Closed(io.TextIOBase):
    """A standard output that was closed before the start."""

    def write(self, _text: str) -> int:
        raise OSError(errno.EBADF, "standard output is closed")


def main() -> None:
    """Runs a command; exits with 2 and one line of explanation where the input is at fault."""
    for name in ONE_THREAD:  # before anything imports NumPy
        os.environ.setdefault(name, "1")
    signal.signal(signal.SIGTERM, _terminated)
    warnings.showwarning = _note_warning
    # Who closes a stream must not get messages into the data, nor success without any.
    sys.stdout = sys.stdout or _Closed()
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    sys.stdin = sys.stdin or Path(os.devnull).open()  # noqa: SIM115
    # The locale must not decide whether a script can be printed.
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")
    try:
        _dispatch(sys.argv[1:])
        sys.stdout.flush()
    except HardalignError as error:
        _fail(str(error), 2)
    except KeyboardInterrupt:
        advice = "; training goes on with --resume" if sys.argv[1:2] == ["train"] else ""
        _fail(f"interrupted{advice}", 128 + signal.SIGINT)
    except BrokenPipeError:
        # The reader has had enough, as `head` does.
        _silence_stdout()
        sys.exit(128 + 13)  # SIGPIPE, which not every system has
    except UnicodeEncodeError:
        _fail("cannot write the output: it has half a character, a lone surrogate", 2)
    except OSError as error:
        # Without a name, it is standard output: a full disk or a closed stream.
        place = "cannot write the output" if error.filename is None else error.filename
        _silence_stdout()
        _fail(f"{place}: {error.strerror or error}", 2)


def _dispatch(arguments: list[str]) -> None:
    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help"):
        print(_help())
    elif name == "--version":
        print(f"hardalign {__version__}")
    elif name in COMMANDS:
        from hardalign.cli.parsing import run

        run(command(name), f"hardalign {name}", rest)
    else:
        known = ", ".join(COMMANDS)
        raise HardalignError(f"no command is called {name!r}; there are {known}")


def command(name: str) -> Callable[..., Any]:
    """Returns the function of a command."""
    function: Callable[..., Any] = getattr(importlib.import_module(f"hardalign.cli.{name}"), name)
    return function


def _help() -> str:
    """Returns the commands, each with the first line of its own help."""
    lines = [
        "usage: hardalign COMMAND ...",
        "",
        "Turns strings into strings, character by character: words into pronunciations, names",
        "into another script, lemmas into inflected forms.",
        "",
    ]
    for name in COMMANDS:
        summary = (command(name).__doc__ or "").partition("\n")[0]
        lines.append(f"  {name:<12}{summary}")
    return "\n".join([*lines, "", "hardalign COMMAND --help explains a command, with examples."])


def _fail(message: str, status: int) -> NoReturn:
    # A message may quote what files and folders hold, line ends and all; it stays one line.
    line = CONTROL.sub(lambda match: repr(match[0])[1:-1], message)
    print(f"hardalign: {line}", file=sys.stderr)
    sys.exit(status)


def _silence_stdout() -> None:
    """Keeps Python from complaining once more at exit of what cannot be written."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        sys.stdout = None


def _note_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Says on one line what a Python program would be warned of."""
    print(f"hardalign: {message}", file=sys.stderr)


def _terminated(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)
