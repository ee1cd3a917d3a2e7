"""``make reference``: write docs/reference/commands.md from what ``--help`` prints."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from unittest import mock

from hardalign.cli.main import COMMANDS, main

PAGE = Path(__file__).parents[1] / "docs/reference/commands.md"
SHARED = "\n files options\n"
"""The heading of the options shared by commands that read files."""
WIDTH = {"COLUMNS": "90", "NO_COLOR": "1", "TERM": "dumb"}


def help_of(*command: str) -> str:
    """Return what ``hardalign COMMAND --help`` prints."""
    printed = io.StringIO()
    with (
        mock.patch.dict(os.environ, WIDTH),
        mock.patch.object(sys, "argv", ["hardalign", *command, "--help"]),
        redirect_stdout(printed),
        suppress(SystemExit),
    ):
        main()
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())


def page() -> str:
    """Return the page: a section for each command, and one for shared options."""
    parts = [
        "# Commands\n\nMade from `hardalign COMMAND --help` by `make reference`; do not edit.\n",
        f"```\n{help_of()}\n```\n",
    ]
    for name in COMMANDS:
        text, shared, _ = help_of(name).partition(SHARED)
        see = "\nAnd the [options of files](#options-of-files).\n" if shared else ""
        parts.append(f"## {name}\n\n```\n{text.rstrip()}\n```\n{see}")
    options = help_of("score").partition(SHARED)[2].split("\n", 3)[3]
    parts.append(
        "## Options of files\n\nHow a file is read, if not as the model was trained "
        f"(`predict` has no `--allow-empty`).\n\n```\n{options}\n```\n"
    )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
