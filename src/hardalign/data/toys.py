"""Toy tasks: made-up words whose right output, and its alignment, is known."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from hardalign.errors import HardalignError

VOWELS = "aeiou"
CONSONANTS = "bcdfghjklmnpqrstvwxyz"


def toy_words(seed: int) -> Iterator[str]:
    """Gives distinct words without end: onset, vowel, consonant and up to six more letters.

    Such as *mejr*: they are what reduplication needs, and serve the other tasks as well.
    """
    rng = random.Random(f"hardalign toy words {seed}")
    seen = set()
    while True:
        onset = "".join(rng.choices(CONSONANTS, k=rng.randint(1, 2)))
        rest = "".join(_syllable(rng) for _ in range(3))[: rng.randint(0, 6)]
        word = onset + rng.choice(VOWELS) + rng.choice(CONSONANTS) + rest
        if word not in seen:
            seen.add(word)
            yield word


def true_alignment(task: str, source: Sequence[str]) -> list[int]:
    """Returns, for each character of the target, the index of the source character it copies.

    >>> true_alignment("reduplication", "mejr")
    [0, 1, 2, 0, 1, 2, 3]

    The task is one of ``TASKS``, with or without ``toy:`` in front.
    """
    align = TASKS.get(task.removeprefix("toy:"))
    if align is None:
        raise HardalignError(f"unknown toy task {task!r}; choose one of {', '.join(TASKS)}")
    return align(source)


def toy_target(task: str, source: str) -> str:
    """Returns the right output for a word: *mejmejr* for *mejr* by reduplication."""
    return "".join(source[index] for index in true_alignment(task, source))


def _reduplicate(source: Sequence[str]) -> list[int]:
    # As in Pingelapese (the paper's Figure 1): consonants, vowel and consonant, once more in front.
    vowel = next((index for index, letter in enumerate(source) if letter in VOWELS), len(source))
    if vowel + 1 >= len(source):
        raise HardalignError(f"{''.join(source)!r} has no vowel with a letter after it to copy")
    return [*range(vowel + 2), *range(len(source))]


TASKS: dict[str, Callable[[Sequence[str]], list[int]]] = {
    "copy": lambda source: [*range(len(source))],
    "reverse": lambda source: [*reversed(range(len(source)))],
    "reduplication": _reduplicate,
}
"""The tasks by name: each says which source character every target character copies."""


def _syllable(rng: random.Random) -> str:
    return rng.choice(CONSONANTS) + rng.choice(VOWELS) + rng.choice(["", rng.choice(CONSONANTS)])
