"""Standard output for data alone, standard error for what people read: notes and progress."""

from __future__ import annotations

import io
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from hardalign.data.text import plural, printable, shorten
from hardalign.files import whole_file

if TYPE_CHECKING:
    from rich.console import Console

    from hardalign.data.formats import Example
    from hardalign.data.vocabulary import UnknownSymbols
    from hardalign.predictor import Prediction, Predictor
    from hardalign.search import Search
    from hardalign.systems.model import ScoreKind

T = TypeVar("T")

CUT_OFF = "cut off at 4 times the length of the source"


def console() -> Console:
    """Returns the console for messages and progress."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False)


def note(text: str | None) -> None:
    """Tells the user something that is no error, if there is something to tell."""
    if text:
        print(f"hardalign: {printable(text)}", file=sys.stderr)


def note_score_kind(kind: ScoreKind) -> None:
    """Says what the scores are, where they are not what their name promises."""
    from hardalign.systems import SCORES

    if kind != "exact":
        note(f"the scores are not exact log p(y | x) but {SCORES[kind]}")


def say(*columns: str) -> None:
    """Prints a line of a report for people; what a terminal would obey is shown instead."""
    print(printable("\t".join(columns)))


def watched(
    items: Iterable[T], what: str, *, total: int | None = None, printed: bool = False
) -> Iterator[T]:
    """Passes items on, and shows on a terminal how many have passed and how fast.

    Args:
        items: To pass on.
        what: What to call them.
        total: How many there are, if that is known: then the time that is left is shown too.
        printed: Whether they go to standard output: on a terminal, that shows it well enough.
    """
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


@contextmanager
def lines_to(output: Path | None) -> Iterator[TextIO]:
    """Gives standard output, or a file that appears when it is complete; UTF-8 either way."""
    if output is None:
        yield sys.stdout
        return
    with whole_file(output) as file:
        lines = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield lines
        lines.flush()
        lines.detach()


def cores() -> int:
    """Returns the cores that this process may use; in a container these may be few of many."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def best_predictions(
    predictor: Predictor,
    items: Sequence[Example],
    search: Search,
    threads: int,
    model: str | None = None,
) -> list[Prediction]:
    """Predicts items, shows how that goes, and says what the model could not read or write.

    Where several models are asked, ``model`` is what messages call this one.
    """
    from hardalign.data.vocabulary import UnknownSymbols

    answers = predictor.answers(items, search, exact=False, threads=threads)
    what = f"words of {model}" if model else "words"
    predictions = [best for best, *_ in watched(answers, what, total=len(items))]
    unknown = UnknownSymbols(predictor.description.vocabulary.source)
    for prediction in predictions:
        unknown.counts.update(prediction.unknown)
    pairs = zip(items, predictions, strict=True)
    cut_off = [item for item, prediction in pairs if not prediction.finished]
    remark_on_items(predictor, items, unknown, cut_off, model)
    return predictions


def remark_on_items(
    predictor: Predictor,
    items: Sequence[Example],
    unknown: UnknownSymbols,
    cut_off: Sequence[Example],
    model: str | None = None,
) -> None:
    """Says of items with references what the model could not read, end or write, if anything."""
    from hardalign.data.formats import training_pairs
    from hardalign.data.vocabulary import symbol_counts

    missing = Counter[str]()
    unwritable = []
    for pair in training_pairs(items):
        if symbols := predictor.indexer.unwritable(pair):
            missing.update(symbols)
            unwritable.append(pair)
    remarks = [unknown.report()]
    if cut_off:
        count = plural(len(cut_off), "prediction was", "predictions were")
        remarks.append(f"{count} {CUT_OFF} (first: {shorten(cut_off[0].text)})")
    if unwritable:
        count = plural(len(unwritable), "reference has", "references have")
        remarks.append(
            f"{count} symbols that the model has never seen in a target, and cannot write "
            f"(first: {shorten(unwritable[0].text)}): {symbol_counts(missing)}"
        )
    for remark in filter(None, remarks):
        note(f"{model}: {remark}" if model else remark)
