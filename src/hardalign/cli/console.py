"""What people read: on standard error, so that standard output holds data alone."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from hardalign.data.lines import file_name
from hardalign.data.reading import Skipped
from hardalign.systems import SCORES, ScoreKind

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")


def console() -> Console:
    """Returns the console for messages and progress."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def note(text: str) -> None:
    """Tells the user something that is no error."""
    print(f"hardalign: {text}", file=sys.stderr)


def note_skipped(file: str, skipped: Skipped, what_happened: str) -> None:
    """Reports blank lines, if there were any."""
    if skipped.blank_lines:
        lines = "1 blank line" if skipped.blank_lines == 1 else f"{skipped.blank_lines} blank lines"
        note(f"{file_name(file)}: {lines} {what_happened} (first: line {skipped.first_blank})")


def note_score_kind(kind: ScoreKind) -> None:
    """Says what the scores are, where they are not what their name promises."""
    if kind != "exact":
        note(f"the scores are not exact log p(y | x) but {SCORES[kind]}")


def watched(items: Iterable[T], what: str, *, printed: bool = False) -> Iterator[T]:
    """Passes items on, and shows on a terminal how many have passed and how fast.

    Args:
        items: To pass on.
        what: They are.
        printed: Whether they go to standard output: on a terminal, that shows it well enough.
    """
    if not sys.stderr.isatty() or (printed and sys.stdout.isatty()):
        yield from items
        return
    from rich.progress import Progress, TextColumn

    columns = (TextColumn("{task.completed} " + what), TextColumn("{task.fields[speed]:.0f}/s"))
    with Progress(*columns, console=console(), transient=True) as progress:
        task = progress.add_task("", total=None, speed=0.0)
        start = time.perf_counter()
        for count, item in enumerate(items, start=1):
            yield item
            speed = count / (time.perf_counter() - start)
            progress.update(task, completed=count, speed=speed)


def cores() -> int:
    """Returns the cores that this process may use; in a container these may be few of many."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
