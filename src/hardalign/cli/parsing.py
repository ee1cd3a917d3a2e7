"""Command lines to calls: tyro reads the options, and its errors become one line."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import re
import shutil
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import tyro

from hardalign.errors import HardalignError

CONFIG = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes)


def run(command: Callable[..., Any], name: str, arguments: list[str]) -> None:
    """Calls a command with the options of a command line.

    Raises:
        HardalignError: If the options are wrong.
    """
    # Tyro would break the text of an option where its lines end in the source, and the description
    # nowhere.
    command.__doc__ = re.sub(r"\n {9,}", " ", command.__doc__ or "")
    if {"-h", "--help"} & set(arguments):
        print(_description(command.__doc__))

    @functools.wraps(command)
    def bind(*values: Any, **options: Any) -> Callable[[], Any]:
        return functools.partial(command, *values, **options)

    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            call = tyro.cli(bind, prog=name, description="", args=arguments, config=CONFIG)
    except SystemExit as stop:
        if stop.code == 2:
            raise HardalignError(f"{_one_line(complaint.getvalue())}; see {name} --help") from None
        sys.stderr.write(complaint.getvalue())
        raise
    call()


def _description(text: str) -> str:
    """Returns what a docstring says before its arguments, in lines of the terminal's width."""
    paragraphs = inspect.cleandoc(text.partition("\n    Args:\n")[0]).split("\n\n")
    width = shutil.get_terminal_size().columns
    return "".join(f"{textwrap.fill(paragraph, width)}\n\n" for paragraph in paragraphs)[:-1]


def _one_line(box: str) -> str:
    """Returns what tyro says in a box, up to the first rule in it."""
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
    return re.sub(r"Expected one of \((.*)\)", _choices, text)


def _choices(match: re.Match[str]) -> str:
    return f"Expected one of {', '.join(sorted(set(match[1].split(', ')) - {repr('None')}))}"
