"""What people read: on standard error, so that standard output holds data alone."""

from __future__ import annotations

import sys

from rich.console import Console

from hardalign.data.reading import Skipped


def console() -> Console:
    """The console for messages and progress."""
    return Console(stderr=True, highlight=False)


def note(text: str) -> None:
    """Tell the user something that is no error."""
    print(f"hardalign: {text}", file=sys.stderr)


def note_skipped(file: str, skipped: Skipped, what_happened: str) -> None:
    """Report blank lines, if there were any."""
    if skipped.blank_lines:
        lines = "1 blank line" if skipped.blank_lines == 1 else f"{skipped.blank_lines} blank lines"
        note(f"{file}: {lines} {what_happened} (first: line {skipped.first_blank})")
