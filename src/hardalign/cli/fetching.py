"""Corpora for commands: fetched before the eyes of the user, then loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import tyro
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from hardalign.cli.console import console, note
from hardalign.corpora.fetch import fetch_file
from hardalign.corpora.load import Corpus, load_corpus
from hardalign.corpora.registry import RegisteredCorpus, RegisteredFile, registry

DataDir = Annotated[Path | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="")]
"""The flag ``--data-dir``."""


class Fetched(NamedTuple):
    """Names a file of a corpus, and where it is on this machine."""

    corpus: RegisteredCorpus
    file: RegisteredFile
    path: Path


def fetch(corpora: Sequence[RegisteredCorpus], data_dir: Path | None) -> list[Fetched]:
    """Finds or downloads all files of some corpora, with a bar on a terminal."""
    files = [(corpus, file) for corpus in corpora for file in corpus.files]
    columns = (MofNCompleteColumn(), BarColumn(), TextColumn("{task.description}", markup=False))
    shown = console()
    fetched = []
    with Progress(
        *columns, console=shown, transient=True, disable=not shown.is_terminal
    ) as progress:
        task = progress.add_task("", total=len(files))
        for corpus, file in files:
            progress.update(task, description=file.name)
            fetched.append(Fetched(corpus, file, fetch_file(corpus, file, data_dir)))
            progress.advance(task)
    for one in fetched:
        if one.file.sha256 is None:
            note(f"{one.path}: unchecked, as the sha256 of {one.file.name} is not known")
    return fetched


def load(name: str, *, seed: int, stress: bool, size: int | None, data_dir: Path | None) -> Corpus:
    """Loads a corpus, with a bar where files have to be fetched first."""
    if name in registry():
        fetch([registry()[name]], data_dir)
    return load_corpus(name, seed=seed, stress=stress, size=size, data_dir=data_dir)
