"""Standard input read as it arrives, standard output for data only, standard error for people."""

from __future__ import annotations

import io
import os
import select
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from hardalign.data.text import printable
from hardalign.files import whole_file

if TYPE_CHECKING:
    from rich.console import Console

    from hardalign.data.formats import Example
    from hardalign.systems.model import ScoreKind

T = TypeVar("T")

STDOUT = (None, Path("-"))
"""Values of ``--output`` that mean standard output."""


def console() -> Console:
    """Return the console for messages and progress."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False)


def note(text: str | None) -> None:
    """Print a note to standard error, if there is one."""
    if text:
        print(f"hardalign: {printable(text)}", file=sys.stderr)


def note_score_kind(kind: ScoreKind) -> None:
    """Note what the scores are, unless they are exact log-probabilities."""
    from hardalign.systems import SCORES

    if kind != "exact":
        note(f"the scores are not exact log p(y | x) but {SCORES[kind]}")


def say(*columns: str) -> None:
    """Print TAB-separated columns for people, with control characters escaped."""
    print(printable("\t".join(columns)))


def watched(
    items: Iterable[T], what: str, *, total: int | None = None, printed: bool = False
) -> Iterator[T]:
    """Yield items, with a progress bar on a terminal, unless they are ``printed`` there."""
    if not sys.stderr.isatty() or (printed and sys.stdout.isatty()):
        yield from items
        return
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

    columns: list[ProgressColumn] = [
        TextColumn("{task.completed} {task.description}", markup=False),
        TextColumn("{task.fields[speed]:.0f}/s"),
    ]
    if total is not None:
        columns += [BarColumn(), TimeRemainingColumn(elapsed_when_finished=True)]
    with Progress(*columns, console=console(), transient=True) as progress:
        description = what if total is None else f"of {total} {what}"
        task = progress.add_task(description, total=total, speed=0.0)
        start = time.perf_counter()
        for count, item in enumerate(items, start=1):
            yield item
            speed = count / (time.perf_counter() - start)
            progress.update(task, completed=count, speed=speed)


class _CountedLines(io.FileIO):
    """Standard input that counts the lines it has received."""

    lines = 0

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self.lines += bytes(buffer[: count or 0]).count(b"\n")
        return count


def as_they_come(file: str, examples: Iterable[Example]) -> Iterator[Iterable[Example]]:
    """Yield a file's examples at once, those of a pipe or terminal in chunks as they arrive."""
    from hardalign.batches import WINDOW

    try:
        descriptor = sys.stdin.fileno()
        streaming = file == "-" and sys.platform != "win32"  # where select is for sockets only
    except (OSError, ValueError):  # standard input was replaced
        streaming = False
    if not streaming or stat.S_ISREG(os.fstat(descriptor).st_mode):
        yield examples
        return
    stream, source = sys.stdin, _CountedLines(descriptor, closefd=False)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(source))
    chunk: list[Example] = []
    for example in examples:
        chunk.append(example)
        has_come = example.line < source.lines or select.select([source], [], [], 0)[0]
        if len(chunk) == WINDOW or not has_come:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
    sys.stdin = stream


@contextmanager
def lines_to(output: Path | None) -> Iterator[TextIO]:
    """Open standard output, or a file that is replaced atomically, for writing UTF-8."""
    if output in STDOUT:
        yield sys.stdout
        return
    assert output is not None
    with whole_file(output) as file:
        lines = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield lines
        lines.flush()
        lines.detach()


def cores() -> int:
    """Return the number of cores this process may use; a container may allow only a few."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
