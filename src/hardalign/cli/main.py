"""The ``hardalign`` command: dispatch, parsing and errors; commands are imported when they run."""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib
import inspect
import io
import os
import re
import shutil
import signal
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from hardalign import __version__
from hardalign.cli.console import note
from hardalign.data.text import printable
from hardalign.errors import HardalignError

FAMILIES = {
    "train": ("train", "join"),
    "predict": ("predict", "lexicon"),
    "pairs": ("score", "align"),
    "measure": ("evaluate", "analyze", "errors", "compare"),
    "model": ("info", "plot", "export", "serve"),
    "data": ("check", "split", "corpora"),
    "reproduce": ("reproduce",),
}
"""The commands of each module, which are functions of the same names."""
COMMANDS = tuple(name for names in FAMILIES.values() for name in names)

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS")
"""Variables that keep NumPy's matrix products on one thread: words run in parallel instead."""

NARROWEST = 30
"""Least terminal width: with five columns, tyro never returns."""

HELP = """usage: hardalign COMMAND ...

Turns strings into strings, character by character: words into pronunciations, names
into another script, lemmas into inflected forms.

{}

hardalign COMMAND --help explains a command, with examples."""
GONE = "the working folder no longer exists; change to another one"


class _Closed(io.TextIOBase):
    """Stands in for a standard output that was closed before start-up."""

    def write(self, _text: str) -> int:
        raise OSError(errno.EBADF, "standard output is closed")


class _Stream:
    """A standard stream: ``clean`` escapes control characters, ``lossy`` ignores write errors.

    Control characters are escaped on terminals because text may come from untrusted data or models.
    """

    def __init__(self, stream: Any, *, clean: bool, lossy: bool) -> None:
        self._stream, self._clean = stream, clean
        self._lost: tuple[type[OSError], ...] = (OSError,) if lossy else ()

    def write(self, text: str) -> int:
        with contextlib.suppress(*self._lost):
            self._stream.write(printable(text) if self._clean else text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with contextlib.suppress(*self._lost):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main() -> None:
    """Run a command; if the input is at fault, exit with status 2 and a one-line message."""
    try:
        _prepare(sys.argv[1:])
        _dispatch(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        advice = "; training goes on with --resume" if sys.argv[1:2] == ["train"] else ""
        _fail(f"interrupted{advice}", 128 + signal.SIGINT)
    except BrokenPipeError:
        # The reader stopped early, as `head` does.
        _silence_stdout()
        sys.exit(128 + 13)  # SIGPIPE, which not every system has
    except UnicodeEncodeError:
        _fail("cannot write the output: it contains half a character (a lone surrogate)", 2)
    except MemoryError:
        _fail("not enough memory; use shorter words, a narrower beam or a smaller model", 2)
    except OSError as error:
        _silence_stdout()
        _fail(_explained(error), 2)
    except HardalignError as error:
        _fail(f"{error}{'' if _has_folder() else f' ({GONE})'}", 2)


def _prepare(arguments: list[str]) -> None:
    """Set up threads, signals, warnings and standard streams."""
    for name in ONE_THREAD:  # before anything imports NumPy
        os.environ.setdefault(name, "1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _send_again
    warnings.showwarning = lambda message, *_, **__: note(str(message))
    # With a stream closed, messages must not end up in the data, nor lost output pass as success.
    sys.stdout = sys.stdout or _Closed()
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    sys.stdin = sys.stdin or Path(os.devnull).open()  # noqa: SIM115
    # Every script must be printable in any locale.
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")
    if sys.stdout.isatty() and not {"-h", "--help"} & set(arguments):
        sys.stdout = _Stream(sys.stdout, clean=True, lossy=False)
    if not isinstance(sys.stderr, _Stream):
        sys.stderr = _Stream(sys.stderr, clean=False, lossy=True)


def _dispatch(arguments: list[str]) -> None:
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
    """Import and return the function of a command."""
    (family,) = (module for module, names in FAMILIES.items() if name in names)
    function: Callable[..., Any] = getattr(importlib.import_module(f"hardalign.cli.{family}"), name)
    return function


def run(command: Callable[..., Any], name: str, arguments: list[str]) -> None:
    """Parse a command line with tyro and call the command.

    Raises:
        HardalignError: If the options are wrong, with tyro's explanation on one line.
    """
    import tyro

    if shutil.get_terminal_size().columns < NARROWEST:
        os.environ["COLUMNS"] = str(NARROWEST)
    # Tyro breaks an option's text at the line ends of the source, and never wraps a description.
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
            text = _one_line(complaint.getvalue())
            raise HardalignError(f"{text}{_advice(text, command)} {name} --help") from None
        sys.stderr.write(complaint.getvalue())
        raise
    try:
        call()
    except HardalignError as error:
        raise HardalignError(_as_typed(str(error), command)) from error


def _as_typed(message: str, command: Callable[..., Any]) -> str:
    """Replace a setting at the start or end of a message by the option to type."""
    options = _options(command)
    name, must, rest = message.partition(" must ")
    if must and name in options:
        return f"--{name.replace('_', '-')}{must}{rest}"
    for name, value in (("allow_empty", "true"), ("max_length", "N")):
        if message.endswith(f" {name}") and options & {name, "set"}:
            typed = f"--{name.replace('_', '-')}" if name in options else f"--set {name}={value}"
            return message.removesuffix(name) + typed
    return message


def _options(command: Callable[..., Any]) -> set[str]:
    """Return the names of a command's options, including those in groups."""
    names = set[str]()
    for name, parameter in inspect.signature(command).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            names |= set(getattr(parameter.default, "__dataclass_fields__", {name}))
    return names


def _advice(complaint: str, command: Callable[..., Any]) -> str:
    """Suggest what was meant by the unknown option that a complaint names first, if any."""
    unknown = re.match(r"Unrecognized options: --([\w-]+)", complaint)
    if unknown is None:
        return "; see"
    from difflib import get_close_matches

    options, settings = _options(command), set[str]()
    if "set" in options:
        from hardalign.cli.train import CALL, READING
        from hardalign.config import SETTINGS

        settings = {*SETTINGS, *READING, *CALL} - options
    near = get_close_matches(unknown[1].replace("-", "_"), options | settings, 1)
    if not near:
        return "; see"
    option = f"set {near[0]}=…" if near[0] in settings else near[0].replace("_", "-")
    return f"; did you mean --{option}? See"


def _description(text: str) -> str:
    """Return a docstring up to its arguments, wrapped except for examples ($)."""
    paragraphs = inspect.cleandoc(text.partition("\n    Args:\n")[0]).split("\n\n")
    width = shutil.get_terminal_size().columns
    filled = (one if one[0] == "$" else textwrap.fill(one, width) for one in paragraphs)
    return "\n\n".join(filled) + "\n"


def _one_line(box: str) -> str:
    """Return the text in tyro's box, up to the first rule, as one line."""
    words: list[str] = []
    for line in box.splitlines():
        text = line.strip("│ ")
        if text and not text.strip("─"):
            break
        if line[:1] not in ("╭", "╰"):
            words += text.split()
    text = " ".join(words).rstrip(".:")
    # None stands for an option that is left out; it cannot be typed.
    value = r"no type matching \{None\}\|(\w+) could be \S+ from \[(.*?)\]\..*"
    text = re.sub(value, r"invalid \1 \2", text).replace("Expected 1 values", "Expected 1 value")

    def choices(match: re.Match[str]) -> str:
        return f"Expected one of {', '.join(sorted(set(match[1].split(', ')) - {repr('None')}))}"

    return re.sub(r"Expected one of \((.*)\)", choices, text)


def _help() -> str:
    """Return the general help, with the first line of each command's own."""
    summaries = {name: (command(name).__doc__ or "").partition("\n")[0] for name in COMMANDS}
    listed = "\n".join(f"  {name:<12}{summary}" for name, summary in summaries.items())
    return HELP.format(listed)


def _explained(error: OSError) -> str:
    """Explain an operating system error; without a file name, it is about the output."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many open files; raise the limit (ulimit -n) or use fewer --threads"
    if not _has_folder():
        return GONE
    place = "cannot write the output" if error.filename is None else error.filename
    return f"{place}: {error.strerror or error}"


def _has_folder() -> bool:
    """Return whether the working folder still exists."""
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        return False
    return True


def _fail(message: str, status: int) -> NoReturn:
    # A message may quote line breaks from files; it must stay on one line.
    line = printable(message).replace("\n", r"\n").replace("\t", r"\t")
    print(f"hardalign: {line}", file=sys.stderr)
    sys.exit(status)


def _send_again(ignored: Any) -> None:
    """Resend a signal that arrived where exceptions are ignored, as in an import callback."""
    number = {SystemExit: signal.SIGTERM, KeyboardInterrupt: signal.SIGINT}.get(ignored.exc_type)
    if number is None:
        sys.__unraisablehook__(ignored)
    else:
        threading.Timer(0.05, os.kill, (os.getpid(), number)).start()


def _silence_stdout() -> None:
    """Keep Python from complaining again at exit about output that cannot be written."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        sys.stdout = None
