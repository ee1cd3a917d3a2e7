"""What people read: on standard error, so that standard output holds data alone."""

from __future__ import annotations

import sys

from rich.console import Console

from hardalign.data.reading import Skipped
from hardalign.models.systems import SCORES, ScoreKind


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


def note_score_kind(kind: ScoreKind) -> None:
    """Say what the scores are, where they are not what their name promises."""
    if kind != "exact":
        note(f"the scores are not exact log p(y | x) but {SCORES[kind]}")
