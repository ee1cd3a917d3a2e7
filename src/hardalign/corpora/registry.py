"""The corpora of the paper and some free ones: what they are, whose they are, how to check them.

The files, with size and checksum, are the rows of ``registry.csv``; what the corpora of one
collection have in common stands here.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Literal, cast

from hardalign.data.formats import FORMATS, Format
from hardalign.errors import HardalignError

Split = Literal["train", "dev", "test"]


@dataclass(frozen=True)
class Collection:
    """Says what corpora of one origin have in common."""

    title: str
    task: str
    format: Format
    licence: str
    citation: str
    repository: str = ""
    """On GitHub, as ``owner/name``; empty where the files are not public."""
    commit: str = ""
    by_hand: str = ""
    """How to come by the files where the licence does not let us fetch them."""


@dataclass(frozen=True)
class RegisteredFile:
    """Describes one file of a corpus."""

    split: Split
    name: str
    """Where it lies in a data folder, such as ``g2p/CMUDict.train``."""
    path: str
    """Where it lies in the repository of its collection."""
    size: int | None
    """In bytes, or None if unknown."""
    sha256: str | None
    """None if unknown: then a copy cannot be checked."""


@dataclass(frozen=True)
class RegisteredCorpus:
    """Describes a corpus."""

    name: str
    title: str
    collection: Collection
    files: tuple[RegisteredFile, ...]

    @property
    def description(self) -> str:
        """Describes the corpus in one line."""
        return f"{self.collection.title}: {self.title}"

    @property
    def size(self) -> int | None:
        """Returns the bytes of all files together, or None if unknown."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None


_PAPER_SPLIT = ", in the split of Wu, Shapiro and Cotterell (2018)"
_FRANKENSTEIN = ("Adamits/frankenstein", "27001a55ab7217f0d5bd3a572472405a71ae3f1f")

COLLECTIONS = {
    "g2p/CMUDict": Collection(
        "CMU Pronouncing Dictionary" + _PAPER_SPLIT,
        "grapheme to phoneme",
        FORMATS["spaced"],
        "BSD-2-Clause (Carnegie Mellon University)",
        "Weide (1998), The CMU Pronouncing Dictionary",
        *_FRANKENSTEIN,
    ),
    "g2p/NETtalk": Collection(
        "NETtalk" + _PAPER_SPLIT,
        "grapheme to phoneme",
        FORMATS["spaced"],
        "non-commercial research only (Sejnowski 1988)",
        "Sejnowski and Rosenberg (1987), Parallel networks that learn to pronounce English text, "
        "Complex Systems 1",
        *_FRANKENSTEIN,
        by_hand="its licence permits non-commercial research only; if that is yours, take the "
        f"files NETtalk.train, .dev and .test from data/g2p of github.com/{_FRANKENSTEIN[0]}",
    ),
    "news15": Collection(
        "NEWS 2015 shared task",
        "transliteration",
        FORMATS["news"],
        "research agreement with the owners of the data",
        "Zhang, Li, Banchs and Kumaran (2015), Whitepaper of NEWS 2015 shared task on machine "
        "transliteration, NEWS at ACL",
        by_hand="it is given to those who sign its agreement; ask the organisers of the "
        "shared task, whom its whitepaper names (aclanthology.org/W15-3901)",
    ),
    "conll2017": Collection(
        "CoNLL-SIGMORPHON 2017 shared task 1, high-resource setting",
        "inflection",
        FORMATS["sigmorphon"],
        "none stated (derived from UniMorph and Wiktionary)",
        "Cotterell et al. (2017), CoNLL-SIGMORPHON 2017 shared task: Universal morphological "
        "reinflection in 52 languages, CoNLL-SIGMORPHON",
        "sigmorphon/conll2017",
        "519bb1677a7c747b3863d37069ffd395062288d8",
    ),
    "sigmorphon2021-g2p": Collection(
        "SIGMORPHON 2021 shared task 1",
        "grapheme to phoneme",
        FORMATS["lexicon"],
        "CC BY-SA 3.0",
        "Ashby et al. (2021), Results of the second SIGMORPHON shared task on multilingual "
        "grapheme-to-phoneme conversion, SIGMORPHON",
        "sigmorphon/2021-task1",
        "821bcdece5a47820872215969f275004b0abe80c",
    ),
    "wikidata-names": Collection(
        "Names of people in Wikidata",
        "transliteration",
        replace(FORMATS["lexicon"], columns=("source", "target", "-")),  # the last is a count
        "CC0-1.0",
        "Merhav and Ash (2018), Design challenges in named entity transliteration, COLING",
        "steveash/NETransliteration-COLING2018",
        "5d5f59e561ecea45a6d3602121e1049baa7a76c3",
    ),
}
"""The collections, by what the names of their corpora begin with."""


@cache
def registry() -> dict[str, RegisteredCorpus]:
    """Returns all registered corpora by name, those of a collection together."""
    corpora: dict[str, RegisteredCorpus] = {}
    table = files("hardalign.corpora").joinpath("registry.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(table.splitlines()):
        name, split = row["corpus"], cast(Split, row["split"])
        size = int(row["bytes"]) if row["bytes"] else None
        file = RegisteredFile(split, row["file"], row["path"], size, row["sha256"] or None)
        corpus = corpora.get(name) or RegisteredCorpus(name, row["title"], _collection(name), ())
        corpora[name] = replace(corpus, files=(*corpus.files, file))
    return corpora


def find_corpora(name: str) -> list[RegisteredCorpus]:
    """Returns the corpus of that name, or all corpora of the collection of that name.

    >>> [corpus.name for corpus in find_corpora("g2p")]
    ['g2p/CMUDict', 'g2p/NETtalk']

    Raises:
        HardalignError: There is none.
    """
    if name in registry():
        return [registry()[name]]
    if members := [corpus for key, corpus in registry().items() if key.startswith(f"{name}/")]:
        return members
    raise HardalignError(unknown_corpus(name))


def unknown_corpus(name: str, others: tuple[str, ...] = ()) -> str:
    """Proposes the nearest names, of registered corpora and of ``others``, in a message."""
    # A bare language or pair is what people try first; difflib alone would not find it.
    known = [*others, *registry()]
    near = [key for key in known if key.lower().partition("/")[2] == name.lower()]
    near += get_close_matches(name, [key for key in known if key not in near], n=3)
    proposal = f"did you mean {' or '.join(near)}? " if near else ""
    return f"unknown corpus {name!r}; {proposal}hardalign corpora lists all names"


def _collection(name: str) -> Collection:
    return COLLECTIONS.get(name) or COLLECTIONS[name.partition("/")[0]]
