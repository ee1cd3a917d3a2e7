"""``hardalign split``: one file cut into train, dev and test."""

from __future__ import annotations

from hardalign.cli.console import note
from hardalign.cli.options import File, Folder, PairOptions


def split(
    file: File,
    *,
    out: Folder,
    dev: float = 0.1,
    test: float = 0.1,
    seed: int = 0,
    files: PairOptions = PairOptions(),  # noqa: B008 - frozen
    overwrite: bool = False,
) -> None:
    """Split a file into train, dev and test, with no source in two of them.

    $ hardalign split lexicon.tsv --out data --format lexicon

    $ hardalign split forms.tsv --out data --format sigmorphon --dev 0.05 --test 0.2 --seed 1

    All pronunciations of a word, and all forms of a lemma, go to the same part. The same file and
    seed always give the same split. Lines stay as they are. For each part a line is printed:
    part TAB file TAB number of examples TAB number of different sources.

    Args:
        file: File with sources and targets; - is standard input.
        out: Folder that train.tsv, dev.tsv and test.tsv (.xml for news) are written to.
        dev: Share of the sources for dev; 0 for none.
        test: Share of the sources for test; 0 for none.
        seed: Another seed gives another split.
        files: How the file is read.
        overwrite: Replace files that are there already.
    """
    from hardalign.data.formats import FORMATS
    from hardalign.data.reading import Skipped
    from hardalign.data.split import split_file

    skipped = Skipped()
    parts = split_file(
        file,
        files.resolve(FORMATS["pairs"]),
        out,
        dev=dev,
        test=test,
        seed=seed,
        allow_empty=files.allow_empty,
        overwrite=overwrite,
        skipped=skipped,
    )
    for part in parts:
        print(part.name, part.path, part.examples, part.sources, sep="\t")
    note(skipped.report(file, "left out"))
