from __future__ import annotations

import pytest

from hardalign.data.text import _GROUPS, describe, is_invisible, look_alikes


def test_twins_of_other_scripts() -> None:
    assert look_alikes(["a", "b", "\u0430", "o", "O"]) == [("a", "\u0430")]
    assert look_alikes(["g", "\u0261"]) == [("g", "\u0261")]
    assert look_alikes(["'", "\u2019", "`"]) == [("'", "`", "\u2019")]


def test_symbols_of_several_characters() -> None:
    assert look_alikes(["ka", "k\u0430", "kb"]) == [("ka", "k\u0430")]


def test_letters_that_are_both_needed_are_no_twins() -> None:
    assert look_alikes("xχaɑuʊvʋiɪnŋgɣθɵsʃzʒeəɛoɔ") == []


def test_no_character_is_in_two_groups() -> None:
    characters = "".join(_GROUPS)
    assert len(set(characters)) == len(characters)


@pytest.mark.parametrize("symbol", ["\u00a0", "\u200d", "\u200b", "\ufeff", "\t", "\u3000"])
def test_invisible(symbol: str) -> None:
    assert is_invisible(symbol)
    assert describe(symbol) == f"U+{ord(symbol):04X}"


@pytest.mark.parametrize("symbol", [" ", "a", "AE1", "\u0301", "한"])
def test_visible(symbol: str) -> None:
    assert not is_invisible(symbol)
    assert describe(symbol).startswith(symbol)
