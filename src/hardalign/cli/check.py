"""``hardalign check``: what is odd in a data set."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from json import dumps
from typing import TYPE_CHECKING

from hardalign.cli.console import note
from hardalign.cli.options import File, PairOptions, Text

if TYPE_CHECKING:
    from hardalign.data.check import Report


def check(
    file: File,
    *,
    against: Text = None,
    json: bool = False,
    files: PairOptions = PairOptions(),  # noqa: B008 - frozen
) -> None:
    """Say what is odd in a data set, before an hour is spent on it.

    $ hardalign check lexicon.tsv --format lexicon

    $ hardalign check test.tsv --against train.tsv --format lexicon

    Looked for are duplicates, contradictions, symbols that are rare, invisible or look like
    others, blanks that are symbols, mixed Unicode normalisation, targets too long to be predicted;
    with --against, sources that occur in the training data and symbols that do not; without it,
    how large a model the set can feed.

    Args:
        file: File with sources and targets; - is standard input.
        against: The file a model is trained on, if FILE is to evaluate it.
        json: Print one JSON object.
        files: How the files are read.
    """
    from hardalign.data import check as data_check
    from hardalign.data.formats import FORMATS
    from hardalign.data.reading import Skipped, read_examples
    from hardalign.data.text import printable

    layout = files.resolve(FORMATS["pairs"])
    read = partial(
        read_examples,
        format=replace(layout, normalization="none", source_case="keep"),  # as it is spelt
        purpose="training",
        allow_empty=files.allow_empty,
    )
    skipped = Skipped()
    training = None if against is None else read(against)
    report = data_check.check(read(file, skipped=skipped), layout, training)
    print(dumps(report.to_dict(), ensure_ascii=False) if json else printable(_text(report)))
    note(skipped.report(file, "passed over"))


def _text(report: Report) -> str:
    lines = [
        f"{report.pairs:,} pairs of {report.sources:,} different sources",
        f"{report.source_symbols} source symbols, {report.target_symbols} target symbols, "
        f"{report.tags} tags",
    ]
    lengths = {"sources": report.source_length, "targets": report.target_length}
    for side, (least, middle, most) in lengths.items():
        lines.append(f"{side} have {least} to {most} symbols, half of them up to {middle:g}")
    for finding in report.findings:
        lines += ["", f"{finding.kind}: {finding.count:,} ({finding.message})"]
        lines += [f"  {sample}" for sample in finding.samples]
        if finding.samples and finding.count > len(finding.samples):
            lines.append(f"  and {finding.count - len(finding.samples):,} more")
    return "\n".join(lines)
