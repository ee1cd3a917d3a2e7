from __future__ import annotations

import pytest

from hardalign.data.vocabulary import Alphabet, Folding


def folded(word: str, letters: str = "'abcdefghijklmnopqrstuvwxyz") -> str | None:
    symbols = Folding(Alphabet(tuple(letters))).fold(tuple(word))
    return None if symbols is None else "".join(symbols)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("cafe", "cafe"),
        ("café", "cafe"),
        ("cafe\u0301", "cafe"),
        ("naïve", "naive"),
        ("straße", "strasse"),
        ("łódź", "lodz"),
        ("ærøskøbing", "aeroskobing"),
        ("Þór", "thor"),
        ("ABC", "abc"),
        ("ÉÆ", "eae"),
        ("isn't", "isn't"),
        ("well-known", "wellknown"),
        ("кот", None),
        ("caт", None),
        ("猫", None),
        ("ﬁnal", "final"),
        ("ｆｕＬＬ", "full"),
        ("-", None),
        ("", None),
    ],
)
def test_words(word: str, expected: str | None) -> None:
    assert folded(word) == expected


def test_what_the_model_has_is_left_alone() -> None:
    assert folded("caféß", "acefés") == "caféss"
    assert folded("Ab", "abA") == "Ab"
    assert folded("ﬁǆ", "dﬁž") == "ﬁdž"
    assert folded("Ǆ", "dzž") == "dž"
    assert folded("isn't", "ints") == "isnt"


@pytest.mark.parametrize("apostrophe", ["'", "’", "´", "`"])
def test_an_apostrophe_is_read_as_the_one_that_the_model_has(apostrophe: str) -> None:
    for letters in ("п'ять", "п’ять"):
        folding = Folding(Alphabet(tuple(letters)))
        assert folding.fold(tuple(f"п{apostrophe}ять")) == tuple(letters)
        assert folding.remark() is None
    assert folded(f"isn{apostrophe}t", "inst") == "isnt"


def test_changes_are_counted_once_the_word_is_readable() -> None:
    folding = Folding(Alphabet(tuple("aest")))
    assert folding.remark() is None
    for word in ("été", "séß", "éт", "a't"):
        folding.fold(tuple(word))
    remark = folding.remark()
    assert remark is not None
    assert remark.endswith("é as e × 3, ß as ss × 1, ' as nothing × 1")
