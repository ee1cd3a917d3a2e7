"""What `hardalign predict` does with known words and with running text."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from hardalign.cli.console import note
from hardalign.files import whole_file

if TYPE_CHECKING:
    from hardalign.decoding import Search
    from hardalign.jobs.known import Lexicon
    from hardalign.predictor import Predictor


def read_known(predictor: Predictor, files: Sequence[str], ipa: bool) -> Lexicon:
    """Returns the known words of some files, and checks that answers can be written as wanted.

    Raises:
        HardalignError: If a file does not fit the model, or the model does not write ARPAbet.
    """
    from hardalign.jobs.ipa import check_arpabet
    from hardalign.jobs.known import Lexicon, read_lexicon

    description = predictor.description
    if ipa:
        check_arpabet(description.vocabulary.target.letters)
    return read_lexicon(files, description) if files else Lexicon(description.format)


def pronounce(
    predictor: Predictor,
    file: str,
    known: Lexicon,
    ipa: bool,
    spell_capitals: bool,
    search: Search,
    threads: int,
) -> Iterator[str]:
    """Yields the lines of a text with its words pronounced; says at the end what was not."""
    from hardalign.data.lines import read_lines
    from hardalign.jobs.reader import TextReport
    from hardalign.jobs.text import pronounce_text

    report = TextReport()
    lines = pronounce_text(
        predictor,
        read_lines(file),
        lexicon=known,
        spell_capitals=spell_capitals,
        ipa=ipa,
        search=search,
        report=report,
        threads=threads,
    )
    for line in lines:
        yield line.text + "\n"
    for remark in (report.summary(), *report.remarks()):
        note(remark)


@contextlib.contextmanager
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
