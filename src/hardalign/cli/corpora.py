"""``hardalign corpora``: what can be trained on by name, and its files on this machine."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated

import tyro

from hardalign.cli.fetching import DataDir, fetch
from hardalign.corpora.fetch import file_url
from hardalign.corpora.load import CMUDICT_LICENCE, CORPORA
from hardalign.corpora.registry import RegisteredCorpus, find_corpora, registry
from hardalign.data.formats import FORMATS, Format
from hardalign.errors import HardalignError


def corpora(
    names: Annotated[
        tuple[str, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="[fetch] [NAME ...]", help_behavior_hint=""),
    ] = (),
    *,
    data_dir: DataDir = None,
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
        _fetch(names[1:], data_dir)
    else:
        print("\n\n".join(_entry(name) for name in names))


def _fetch(names: tuple[str, ...], data_dir: Path | None) -> None:
    if not names:
        raise HardalignError("fetch what? hardalign corpora lists all names")
    wanted: dict[str, RegisteredCorpus] = {}
    for name in names:
        if name in CORPORA:
            raise HardalignError(f"{name} has no files to fetch; train on it with --corpus {name}")
        wanted |= {corpus.name: corpus for corpus in find_corpora(name)}
    for corpus, file, path in fetch(list(wanted.values()), data_dir):
        print(corpus.name, file.split, path, sep="\t")


def _catalogue() -> str:
    lines = ["Made on the spot or part of a package: nothing to fetch."]
    lines += [f"  {name:<30}{description}" for name, description in CORPORA.items()]
    for collection, members in groupby(registry().values(), key=lambda corpus: corpus.collection):
        lines += ["", f"{collection.title}: {collection.task}"]
        lines.append(f"  licence: {collection.licence}")
        if collection.by_hand:
            lines[-1] += "; never downloaded"
        lines += [f"  {one.name:<30}{one.title:<36}{_size(one.size):>12}" for one in members]
    return "\n".join([*lines, "", "hardalign corpora NAME says more about one."])


def _entry(name: str) -> str:
    if name in CORPORA:
        licence = f"\n  licence   {CMUDICT_LICENCE}" if name == "cmudict" else ""
        return f"{name}\n  {CORPORA[name]}{licence}"
    return "\n\n".join(_description(corpus) for corpus in find_corpora(name))


def _description(corpus: RegisteredCorpus) -> str:
    about = corpus.collection
    lines = [
        corpus.name,
        f"  {corpus.description}",
        f"  task      {about.task}",
        f"  format    {_format(about.format)}",
        f"  licence   {about.licence}",
        f"  citation  {about.citation}",
    ]
    if about.by_hand:
        lines.append(f"  by hand   {about.by_hand}")
    for file in corpus.files:
        lines.append(f"  {file.split:<10}{file.name}, {_size(file.size)}")
        lines.append(f"            sha256 {file.sha256 or 'unknown: copies are not checked'}")
        if not about.by_hand:
            lines.append(f"            {file_url(about, file)}")
    if all(file.split != "dev" for file in corpus.files):
        lines.append("  dev       a tenth of train, held out by a hash of the source")
    return "\n".join(lines)


def _format(layout: Format) -> str:
    if layout == FORMATS[layout.name]:
        return layout.name
    return f"{layout.name} --columns {','.join(layout.columns)}"


def _size(size: int | None) -> str:
    return "size unknown" if size is None else f"{size / 1000:,.0f} kB"
