"""The ``hardalign`` command: dispatch, parsing and errors. A command is imported when it runs."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, NoReturn

COMMANDS = (
    *("train", "predict", "evaluate", "score", "align", "plot", "analyze", "info", "join"),
    *("lexicon", "errors", "compare", "check", "split", "corpora"),
    *("reproduce", "serve", "export"),
)
"""The commands; each is a function of that name."""

FAMILIES = {
    **dict.fromkeys(("predict", "score", "align"), "answer"),
    **dict.fromkeys(("evaluate", "analyze"), "measure"),
    **dict.fromkeys(("check", "split", "corpora"), "data"),
    **dict.fromkeys(("errors", "compare"), "diagnose"),
    "join": "train",
}
"""The modules of commands that are not in a module of their own name."""

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS")
"""What keeps NumPy's matrix products on one thread: words are spread over threads, not matrices."""

NARROWEST = 30
"""Columns; tyro does not come to an end in terminals of five."""

GONE = "the working folder does not exist any more; change to another one"


class _Closed(io.TextIOBase):
    """A standard output that was closed before the start."""

    def write(self, _text: str) -> int:
        raise OSError(errno.EBADF, "standard output is closed")


class _Stream:
    """A standard stream; where it is for people, it is safe to write anything to it.

    On a terminal control characters are shown instead of obeyed: what is printed may come from a
    stranger's data or model. Messages that cannot be written are lost, and nothing else.
    """

    def __init__(self, stream: Any, *, clean: bool, lossy: bool) -> None:
        self._stream, self._clean, self._lossy = stream, clean, lossy

    def write(self, text: str) -> int:
        from hardalign.data.text import printable

        try:
            self._stream.write(printable(text) if self._clean else text)
        except OSError:
            if not self._lossy:
                raise
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            if not self._lossy:
                raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main() -> None:
    """Runs a command; exits with 2 and one line of explanation where the input is at fault."""
    try:
        _prepare(sys.argv[1:])
        _dispatch(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        advice = "; training goes on with --resume" if sys.argv[1:2] == ["train"] else ""
        _fail(f"interrupted{advice}", 128 + signal.SIGINT)
    except BrokenPipeError:
        # The reader has had enough, as `head` does.
        _silence_stdout()
        sys.exit(128 + 13)  # SIGPIPE, which not every system has
    except UnicodeEncodeError:
        _fail("cannot write the output: it has half a character, a lone surrogate", 2)
    except MemoryError:
        _fail("not enough memory; use shorter words, a narrower beam or a smaller model", 2)
    except OSError as error:
        _silence_stdout()
        _fail(_explained(error), 2)
    except Exception as error:
        from hardalign.errors import HardalignError

        if not isinstance(error, HardalignError):
            raise
        _fail(f"{error}{'' if _has_folder() else f' ({GONE})'}", 2)


def _prepare(arguments: list[str]) -> None:
    """Makes the process ready: threads, signals, warnings and standard streams."""
    import warnings
    from pathlib import Path

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
    if sys.stdout.isatty() and not {"-h", "--help"} & set(arguments):
        sys.stdout = _Stream(sys.stdout, clean=True, lossy=False)
    if not isinstance(sys.stderr, _Stream):
        sys.stderr = _Stream(sys.stderr, clean=False, lossy=True)


def _dispatch(arguments: list[str]) -> None:
    from hardalign import __version__
    from hardalign.errors import HardalignError

    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help"):
        print(_help())
    elif name == "--version":
        print(f"hardalign {__version__}")
    elif name in COMMANDS:
        run(command(name), f"hardalign {name}", rest)
    else:
        known = ", ".join(COMMANDS)
        raise HardalignError(f"no command is called {name!r}; there are {known}")


def command(name: str) -> Callable[..., Any]:
    """Returns the function of a command."""
    import importlib

    module = importlib.import_module(f"hardalign.cli.{FAMILIES.get(name, name)}")
    function: Callable[..., Any] = getattr(module, name)
    return function


def run(command: Callable[..., Any], name: str, arguments: list[str]) -> None:
    """Calls a command with the options of a command line, which tyro reads.

    Raises:
        HardalignError: If the options are wrong; tyro's explanation becomes one line.
    """
    import contextlib
    import functools
    import re
    import shutil

    import tyro

    from hardalign.errors import HardalignError

    if shutil.get_terminal_size().columns < NARROWEST:
        os.environ["COLUMNS"] = str(NARROWEST)
    # Tyro would break the text of an option where its lines end in the source, and the description
    # nowhere.
    command.__doc__ = re.sub(r"\n {9,}", " ", command.__doc__ or "")
    if {"-h", "--help"} & set(arguments):
        print(_description(command.__doc__))

    @functools.wraps(command)
    def bind(*values: Any, **options: Any) -> Callable[[], Any]:
        return functools.partial(command, *values, **options)

    complaint = io.StringIO()
    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes)
    try:
        with contextlib.redirect_stderr(complaint):
            call = tyro.cli(bind, prog=name, description="", args=arguments, config=config)
    except SystemExit as stop:
        if stop.code == 2:
            raise HardalignError(f"{_one_line(complaint.getvalue())}; see {name} --help") from None
        sys.stderr.write(complaint.getvalue())
        raise
    call()


def _description(text: str) -> str:
    """Returns what a docstring says before its arguments, in lines of the terminal's width."""
    import inspect
    import shutil
    import textwrap

    paragraphs = inspect.cleandoc(text.partition("\n    Args:\n")[0]).split("\n\n")
    width = shutil.get_terminal_size().columns
    return "".join(f"{textwrap.fill(paragraph, width)}\n\n" for paragraph in paragraphs)[:-1]


def _one_line(box: str) -> str:
    """Returns what tyro says in a box, up to the first rule in it."""
    import re

    words: list[str] = []
    for line in box.splitlines():
        text = line.strip("│ ")
        if text and not text.strip("─"):
            break
        if line[:1] not in ("╭", "╰"):
            words += text.split()
    text = " ".join(words).rstrip(".:")
    # That an option may be left out is no value that it could have.
    value = r"no type matching \{None\}\|(\w+) could be \S+ from \[(.*?)\]\..*"
    text = re.sub(value, r"\2 is no \1", text).replace("Expected 1 values", "Expected 1 value")

    def choices(match: re.Match[str]) -> str:
        return f"Expected one of {', '.join(sorted(set(match[1].split(', ')) - {repr('None')}))}"

    return re.sub(r"Expected one of \((.*)\)", choices, text)


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


def _explained(error: OSError) -> str:
    """Returns what went wrong outside: with a file that has a name, or else with the output."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many open files; raise the limit (ulimit -n) or use fewer --threads"
    if not _has_folder():
        return GONE
    place = "cannot write the output" if error.filename is None else error.filename
    return f"{place}: {error.strerror or error}"


def _has_folder() -> bool:
    """Says whether the working folder still exists."""
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        return False
    return True


def _fail(message: str, status: int) -> NoReturn:
    from hardalign.data.text import printable

    # A message may quote what files and folders hold, line ends and all; it stays one line.
    line = printable(message).replace("\n", r"\n").replace("\t", r"\t")
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
    from hardalign.cli.console import note

    note(str(message))


def _terminated(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)
