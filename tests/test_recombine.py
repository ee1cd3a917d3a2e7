from __future__ import annotations

from collections.abc import Iterator

import pytest

from hardalign.data.example import Example
from hardalign.errors import HardalignError
from hardalign.invent import invent


def example(source: str, target: str) -> Example:
    return Example(tuple(source), (tuple(target.split()),))


# Every letter has a sound of its own but c, which is s before e and i.
SOUNDS = {"a": "A", "b": "B", "e": "E", "i": "I", "n": "N", "o": "O", "r": "R", "t": "T"}


def pronounce(word: str) -> str:
    following = [*word[1:], ""]
    return " ".join(
        SOUNDS.get(letter) or ("S" if after in ("e", "i") else "K")
        for letter, after in zip(word, following, strict=True)
    )


WORDS = [
    "cabin",
    "cart",
    "rice",
    "cent",
    "cater",
    "note",
    "recite",
    "canteen",
    "terrace",
    "nice",
    "ratio",
]
WORDS += ["canter", "attract", "arnica", "inactive", "carat", "nitrate", "bacteria", "orient"]
WORDS = [word.replace("v", "b") for word in WORDS]
EXAMPLES = [example(word, pronounce(word)) for word in WORDS]


def pieces(word: str) -> Iterator[tuple[str, str]]:
    return ((word[:cut], word[cut:]) for cut in range(len(word) + 1))


def test_a_beginning_and_an_ending_that_fit():
    """Each is made of two words, and its sounds are still those of its letters."""
    beginnings = {beginning for word in WORDS for beginning, _ in pieces(word)}
    endings = {ending for word in WORDS for _, ending in pieces(word)}
    invented = invent(EXAMPLES, 100, 0)
    words = {"".join(one.source) for one in invented}
    assert len(invented) == 100
    for one in invented:
        word = "".join(one.source)
        assert any(b in beginnings and e in endings for b, e in pieces(word)), word
        assert " ".join(one.targets[0]) == pronounce(word)
    assert len(words - set(WORDS)) > 10


def test_the_seed_decides():
    assert invent(EXAMPLES, 20, 1) == invent(EXAMPLES, 20, 1) != invent(EXAMPLES, 20, 2)
    assert invent(EXAMPLES, 5, 1) == invent(EXAMPLES, 20, 1)[:5]


def test_two_words_exchange_what_follows():
    both = [example("abxy", "A B X Y"), example("zabc", "Z A B C")]
    invented = {("".join(one.source), *one.targets[0]) for one in invent(both, 50, 0)}
    assert invented == {("abc", "A", "B", "C"), ("zabxy", "Z", "A", "B", "X", "Y")}


def test_pairs_with_nothing_in_common_are_refused():
    with pytest.raises(HardalignError, match="no two of them share two symbols in a row"):
        invent([example("cat", "K AE T"), example("dog", "D O G")], 5, 0)
