"""``hardalign check``, ``split`` and ``corpora``: preparing data for training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from itertools import groupby
from json import dumps
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional

from hardalign.cli import options as opt
from hardalign.cli.console import note, watched
from hardalign.data.check import Report
from hardalign.data.check import check as check_data
from hardalign.data.corpora import (
    CMUDICT_LICENCE,
    CORPORA,
    Corpus,
    RegisteredCorpus,
    fetch_file,
    file_url,
    find_corpora,
    load_origin,
    registry,
)
from hardalign.data.formats import FORMATS
from hardalign.data.reading import CorpusOrigin, Skipped, read_examples
from hardalign.data.split import split_file
from hardalign.data.text import printable
from hardalign.errors import HardalignError


def check(
    file: opt.PairFile,
    *,
    against: opt.Text = None,
    json: opt.Json = False,
    files: opt.PairOptions = opt.PairOptions(),
) -> None:
    """Check a data set for common problems before training.

    $ hardalign check lexicon.tsv --format lexicon
    $ hardalign check test.tsv --against train.tsv --format lexicon

    It reports duplicates, contradictions, symbols that are rare, invisible or look like others,
    blanks used as symbols, mixed Unicode normalisation and targets too long to be predicted; with
    --against, also sources that occur in the training data and symbols that do not; without it,
    which model size there is enough data for.

    Args:
        against: The training data, if FILE is for evaluation.
    """
    layout = files.resolve(FORMATS["pairs"])
    read = partial(
        read_examples,
        format=replace(layout, normalization="none", source_case="keep"),  # as it is spelt
        purpose="training",
        allow_empty=files.allow_empty,
    )
    skipped = Skipped()
    training = None if against is None else read(against)
    report = check_data(read(file, skipped=skipped), layout, training)
    print(dumps(asdict(report), ensure_ascii=False) if json else printable(_text(report)))
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


def split(
    file: opt.PairFile,
    *,
    out: opt.Folder,
    dev: float = 0.1,
    test: float = 0.1,
    seed: int = 0,
    files: opt.PairOptions = opt.PairOptions(),
    overwrite: bool = False,
) -> None:
    """Split a file into train, dev and test sets that have no source in common.

    $ hardalign split lexicon.tsv --out data --format lexicon
    $ hardalign split forms.tsv --out data --format sigmorphon --dev 0.05 --test 0.2 --seed 1

    All pronunciations of a word, and all forms of a lemma, go to the same part. The same file and
    seed always give the same split. Lines are copied unchanged. The output has a line per part:
    part TAB file TAB number of examples TAB number of distinct sources.

    Args:
        out: Folder for train.tsv, dev.tsv and test.tsv; NEWS XML becomes lines of format pairs.
        dev: Share of the sources for dev; 0 for none.
        test: Share of the sources for test; 0 for none.
        seed: Random seed of the split.
        overwrite: Replace all three files.
    """
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


def corpora(
    names: Annotated[opt.Strings, Positional, opt.optional("[fetch] [NAME ...]")] = (),
    *,
    data_dir: opt.DataDir = None,
) -> None:
    """List the corpora known by name, describe some of them, or fetch their files.

    $ hardalign corpora
    $ hardalign corpora conll2017/danish
    $ hardalign corpora fetch conll2017/danish wikidata-names

    Files are checked against their registered sha256 wherever they come from. Downloads are kept in
    your system's cache folder, or the one named by HARDALIGN_CACHE. Some corpora may not be
    redistributed: for those it says whom to ask, and where to put the files.

    Args:
        names: Corpora to describe or, after the word fetch, to find or download: this prints the
            corpus, part and path of each file. A collection's name means all of it. (default:
            list all)
    """
    if not names:
        print(_catalogue())
    elif names[0] == "fetch":
        for row in _fetch(_registered(names[1:]), data_dir):
            print("\t".join(row))
    else:
        print("\n\n".join(_entry(name) for name in names))


def fetch_and_load(origin: CorpusOrigin, data_dir: Path | None) -> Corpus:
    """Load a corpus, with a progress bar if files have to be fetched first."""
    if origin.corpus in registry():
        _fetch([registry()[origin.corpus]], data_dir)
    return load_origin(origin, data_dir)


def _fetch(corpora: Iterable[RegisteredCorpus], data_dir: Path | None) -> list[tuple[str, ...]]:
    """Find or download all files of the corpora; return the corpus, part and path of each."""
    files = [(corpus, file) for corpus in corpora for file in corpus.files]
    bar = watched(files, "files", total=len(files))
    found = [(corpus, file, fetch_file(corpus, file, data_dir)) for corpus, file in bar]
    for _, file, path in found:  # once the progress bar is gone
        if file.sha256 is None:
            note(f"{path}: unchecked, as the sha256 of {file.name} is not known")
    return [(corpus.name, file.split, str(path)) for corpus, file, path in found]


def _registered(names: tuple[str, ...]) -> Iterable[RegisteredCorpus]:
    """Return the registered corpora of these names, without duplicates."""
    if not names:
        raise HardalignError("fetch what? hardalign corpora lists all names")
    registered: dict[str, RegisteredCorpus] = {}
    for name in names:
        if name in CORPORA:
            raise HardalignError(f"{name} has no files to fetch; train on it with --corpus {name}")
        registered |= {corpus.name: corpus for corpus in find_corpora(name)}
    return registered.values()


def _catalogue() -> str:
    lines = ["Made on the spot or part of a package: nothing to fetch."]
    lines += [f"  {name:<30}{description}" for name, description in CORPORA.items()]
    for collection, members in groupby(registry().values(), key=lambda corpus: corpus.collection):
        lines += ["", f"{collection.title}: {collection.task}"]
        lines.append(f"  licence: {collection.licence}")
        if collection.by_hand:
            lines[-1] += "; never downloaded"
        lines += [f"  {c.name:<30}{c.title:<36}{_size(c.size):>12}" for c in members]
    return "\n".join([*lines, "", "hardalign corpora NAME says more about one."])


def _entry(name: str) -> str:
    if name in CORPORA:
        licence = f"\n  licence   {CMUDICT_LICENCE}" if name == "cmudict" else ""
        return f"{name}\n  {CORPORA[name]}{licence}"
    return "\n\n".join(_description(corpus) for corpus in find_corpora(name))


def _description(corpus: RegisteredCorpus) -> str:
    collection, layout = corpus.collection, corpus.collection.format
    columns = f" --columns {','.join(layout.columns)}" if layout != FORMATS[layout.name] else ""
    lines = [
        corpus.name,
        f"  {corpus.description}",
        f"  task      {collection.task}",
        f"  format    {layout.name}{columns}",
        f"  licence   {collection.licence}",
        f"  citation  {collection.citation}",
    ]
    if collection.by_hand:
        lines.append(f"  by hand   {collection.by_hand}")
    for file in corpus.files:
        lines.append(f"  {file.split:<10}{file.name}, {_size(file.size)}")
        lines.append(f"            sha256 {file.sha256 or 'unknown: copies are not checked'}")
        if not collection.by_hand:
            lines.append(f"            {file_url(collection, file)}")
    if all(file.split != "dev" for file in corpus.files):
        lines.append("  dev       a tenth of train, held out by a hash of the source")
    return "\n".join(lines)


def _size(size: int | None) -> str:
    return "size unknown" if size is None else f"{size / 1000:,.0f} kB"
