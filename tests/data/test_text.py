import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardalign.data.text import NORMALIZATIONS, normalize, segment, shorten
from hardalign.errors import HardalignError

SAMPLES = ["العَرَبِيَّة", "한국어", "हिन्दी", "e\u0301o\u0308", "👩\u200d🚀🇰🇷", "<s>[PAD]\"'"]


@pytest.mark.parametrize("form", NORMALIZATIONS)
@pytest.mark.parametrize("text", SAMPLES)
def test_characters_round_trip(text, form):
    normal = normalize(text, form)
    assert "".join(segment(normal, "")) == normal
    assert all(len(symbol) == 1 for symbol in segment(normal, ""))


def test_normal_forms():
    assert normalize("e\u0301", "NFC") == "é"
    assert normalize("é", "NFD") == "e\u0301"
    assert normalize("ﬁ", "NFKC") == "fi"
    assert normalize("한", "NFKD") == unicodedata.normalize("NFD", "한")
    assert normalize("e\u0301", "none") == "e\u0301"


def test_blanks_make_no_symbol():
    assert segment("  g o  i ", " ") == ("g", "o", "i")
    assert segment(" ", " ") == ()


def test_only_the_blank_separates():
    assert segment("a\u00a0b\u2028c d", " ") == ("a\u00a0b\u2028c", "d")


def test_other_separators_are_exact():
    assert segment("a b|c", "|") == ("a b", "c")
    assert segment("a::b:c", "::") == ("a", "b:c")


@pytest.mark.parametrize("text", ["|a", "a|", "a||b", "|"])
def test_an_empty_symbol_is_refused(text):
    with pytest.raises(HardalignError, match=r"empty symbol beside a separator '[|]'"):
        segment(text, "|")


@pytest.mark.parametrize("separator", ["", " ", "|"])
def test_nothing_has_no_symbols(separator):
    assert segment("", separator) == ()


@settings(deadline=None)
@given(st.lists(st.text(min_size=1).filter(lambda s: " " not in s and "|" not in s)))
def test_separated_symbols_round_trip(symbols):
    for separator in (" ", "|"):
        assert segment(separator.join(symbols), separator) == tuple(symbols)


def test_shorten_gives_one_short_line():
    assert shorten("a\nb\t") == r"'a\nb\t'"
    assert shorten("x" * 10_000) == repr("x" * 39 + "…")
    assert shorten("x" * 40) == repr("x" * 40)
