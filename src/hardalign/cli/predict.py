"""``hardalign predict``: a file of sources in, their predictions out, line by line."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TextIO

import tyro

from hardalign.cli.console import note, note_skipped
from hardalign.cli.options import FileOptions, Model
from hardalign.files import whole_file


def predict(
    model: Model,
    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")] = "-",
    *,
    scores: bool = False,
    output: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None,
    files: FileOptions = FileOptions(),  # noqa: B008 - frozen
) -> None:
    """Predict a target for each source, one line per input line, in order.

    $ echo action | hardalign predict runs/g2p

    $ hardalign predict runs/g2p words.txt --scores --output lexicon.tsv

    A line holds a source alone (with tags: lemma TAB TAG;TAG), or all the columns of the model's
    format, whose target is then ignored. Printed is: source TAB prediction. Predictions stop at 4
    times the length of the source (begin and end symbols included); if one does, it is reported.

    Args:
        model: Folder of a trained model.
        file: File of sources; - is standard input; gzip is recognised.
        scores: Add a third column, the natural logarithm of the prediction's probability.
        output: Write to this file, whole or not at all, instead of standard output.
        files: How the file is read, if not as the model was trained.
    """
    from hardalign.data.reading import Skipped, read_examples
    from hardalign.data.vocabulary import UnknownSymbols
    from hardalign.predictor import load
    from hardalign.search import LENGTH_LIMIT

    predictor = load(model)
    unknown = UnknownSymbols(predictor.description.vocabulary.source)
    skipped = Skipped()
    layout = files.resolve(predictor.description.format)
    examples = read_examples(file, layout, "prediction", skipped=skipped)
    cut_off: list[int] = []
    with _lines_to(output) as lines:
        for number, found in enumerate(predictor.predict(examples, unknown), start=1):
            columns = [found.source, found.text]
            if scores:
                columns.append(f"{found.log_prob:.6f}")
            lines.write("\t".join(columns) + "\n")
            if not found.finished:
                cut_off.append(number)
    note_skipped(file, skipped, "answered with an empty prediction")
    if report := unknown.report():
        note(report)
    if cut_off:
        note(
            f"{len(cut_off)} predictions were cut off at {LENGTH_LIMIT} times the length of the "
            f"source (first: item {cut_off[0]})"
        )


@contextlib.contextmanager
def _lines_to(output: Path | None) -> Iterator[TextIO]:
    """Standard output, or a file that appears when it is complete; UTF-8 either way."""
    if output is None:
        # The locale must not decide whether a script can be printed.
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        yield sys.stdout
        return
    with whole_file(output) as file:
        lines = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield lines
        lines.flush()
        lines.detach()
