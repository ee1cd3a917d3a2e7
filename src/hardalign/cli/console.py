"""What people read: on standard error, so that standard output holds data alone."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress, TextColumn

from hardalign.data.lines import file_name
from hardalign.data.reading import Skipped
from hardalign.systems import SCORES, ScoreKind

T = TypeVar("T")


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
        note(f"{file_name(file)}: {lines} {what_happened} (first: line {skipped.first_blank})")


def note_score_kind(kind: ScoreKind) -> None:
    """Say what the scores are, where they are not what their name promises."""
    if kind != "exact":
        note(f"the scores are not exact log p(y | x) but {SCORES[kind]}")


def watched(items: Iterable[T], what: str) -> Iterator[T]:
    """Pass items on, and show on a terminal how many have passed and how fast.

    Not where standard output is that terminal: there the lines themselves show it.
    """
    columns = (TextColumn("{task.completed} " + what), TextColumn("{task.fields[speed]:.0f}/s"))
    hidden = not sys.stderr.isatty() or sys.stdout.isatty()
    with Progress(*columns, console=console(), transient=True, disable=hidden) as progress:
        task = progress.add_task("", total=None, speed=0.0)
        start = time.perf_counter()
        for count, item in enumerate(items, start=1):
            yield item
            speed = count / (time.perf_counter() - start)
            progress.update(task, completed=count, speed=speed)
