"""``hardalign corpora``: what can be trained on by name, and its files on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Annotated

import tyro

from hardalign.cli.console import note, watched
from hardalign.cli.options import OptionalFolder, optional
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
from hardalign.data.formats import FORMATS, Format
from hardalign.data.origin import CorpusOrigin
from hardalign.errors import HardalignError


def corpora(
    names: Annotated[
        tuple[str, ...],
        tyro.conf.Positional,
        optional("[fetch] [NAME ...]"),
    ] = (),
    *,
    data_dir: OptionalFolder = None,
) -> None:
    """List the corpora known by name, describe some of them, or fetch their files.

    $ hardalign corpora

    $ hardalign corpora conll2017/danish

    $ hardalign corpora fetch conll2017/danish wikidata-names

    Files are checked against their registered sha256 wherever they come from. What is downloaded
    is kept in the cache folder of your system, or where HARDALIGN_CACHE says. Some corpora may not
    be passed on: for those it says whom to ask, and where to put the files.

    Args:
        names: Corpora to describe, or after the word fetch, to find or download: then a line for
            each file says corpus, part and path. The name of a collection means all of it.
            Without names, a list of all.
        data_dir: Folder with your own copies of the files, which are used first.
            (default: what HARDALIGN_DATA names)
    """
    if not names:
        print(_catalogue())
    elif names[0] == "fetch":
        for row in _fetch(_registered(names[1:]), data_dir):
            print("\t".join(row))
    else:
        print("\n\n".join(_entry(name) for name in names))


def fetch_and_load(origin: CorpusOrigin, data_dir: Path | None) -> Corpus:
    """Loads a corpus, with a bar where files have to be fetched first."""
    if origin.corpus in registry():
        _fetch([registry()[origin.corpus]], data_dir)
    return load_origin(origin, data_dir)


def _fetch(corpora: Iterable[RegisteredCorpus], data_dir: Path | None) -> list[tuple[str, ...]]:
    """Finds or downloads all files of some corpora; returns corpus, part and path of each."""
    files = [(corpus, file) for corpus in corpora for file in corpus.files]
    rows: list[tuple[str, ...]] = []
    unchecked = []
    for corpus, file in watched(files, "files", total=len(files)):
        path = fetch_file(corpus, file, data_dir)
        rows.append((corpus.name, file.split, str(path)))
        if file.sha256 is None:
            unchecked.append(f"{path}: unchecked, as the sha256 of {file.name} is not known")
    for remark in unchecked:  # when the bar is gone
        note(remark)
    return rows


def _registered(names: tuple[str, ...]) -> Iterable[RegisteredCorpus]:
    """Returns the corpora that have files, each once."""
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
    collection = corpus.collection
    lines = [
        corpus.name,
        f"  {corpus.description}",
        f"  task      {collection.task}",
        f"  format    {_format(collection.format)}",
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


def _format(layout: Format) -> str:
    if layout == FORMATS[layout.name]:
        return layout.name
    return f"{layout.name} --columns {','.join(layout.columns)}"


def _size(size: int | None) -> str:
    return "size unknown" if size is None else f"{size / 1000:,.0f} kB"
