"""Tiny vocabularies, random words and patience, which the tests share; tiny.py needs torch."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterable

import pytest
from hypothesis import settings

from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, END, RESERVED, Alphabet, Vocabulary

# The machine may be busy, and a fixed number of examples bounds the time well enough.
settings.register_profile("hardalign", deadline=None, max_examples=25)
settings.load_profile("hardalign")
# Before anything imports NumPy or torch, here and in the processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A shell that starts the tests in the background has them ignore Ctrl-C, and so would the commands
# that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def tiny_vocabulary(
    letters: Iterable[str] = "abcd", tags: Iterable[str] = ("N", "V"), target: Iterable[str] = "xyz"
) -> Vocabulary:
    """A vocabulary of the given symbols."""
    return Vocabulary(Alphabet(tuple(letters), tuple(tags)), Alphabet(tuple(target)))


TINY = tiny_vocabulary()


def random_pair(
    letters: int, target: int, *, seed: int = 0, tags: int = 0, vocabulary: Vocabulary = TINY
) -> Encoded:
    """Random symbols: ``letters`` after ``tags`` on the source side, ``target`` on the other."""
    generator = random.Random(f"{seed} {letters} {target} {tags}")
    first_tag = RESERVED + len(vocabulary.source.letters)
    source = [generator.randrange(first_tag, len(vocabulary.source)) for _ in range(tags)]
    source += [generator.randrange(RESERVED, first_tag) for _ in range(letters)]
    said = [generator.randrange(RESERVED, len(vocabulary.target)) for _ in range(target)]
    return Encoded([BEGIN, *source, END], tags, [*said, END])


def random_pairs(
    count: int, longest: int = 8, *, seed: int = 0, vocabulary: Vocabulary = TINY
) -> list[Encoded]:
    """Pairs of all sorts of lengths, some with tags, some with nothing but an end."""
    generator = random.Random(seed)
    most_tags = 2 if vocabulary.source.tags else 0
    return [
        random_pair(
            generator.randint(1, longest),
            generator.randint(0, longest),
            seed=generator.randrange(10**6),
            tags=generator.randint(0, most_tags),
            vocabulary=vocabulary,
        )
        for _ in range(count)
    ]


def eventually(happened: Callable[[], bool], within: float = 300.0) -> None:
    """Wait for something that another thread or process does, on however busy a machine."""
    deadline = time.monotonic() + within
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the test that waits longest first, so that others run meanwhile."""
    items.sort(key=lambda item: item.name != "test_a_machine_dies")
