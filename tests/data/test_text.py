from __future__ import annotations

import sys
import time
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardalign.data.formats import FORMATS
from hardalign.data.text import (
    MAX_MARKS,
    NORMALIZATIONS,
    normalize,
    segment,
    shorten,
)
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


POISON = {
    "marks in falling order of class": "a" + "\u0301" * 500_000 + "\u0316" * 500_000,
    "vowels that are two marks each": "\u0f40" + "\u0f73" * 500_000,
    "halfwidth marks between others": "a" + ("\u0301" * 30 + "\uff9e") * 30_000,
    "marks beside punctuation": "-" * 500_000 + "\u0301" * 33,
}


@pytest.mark.parametrize("form", NORMALIZATIONS)
@pytest.mark.parametrize("kind", POISON)
def test_runs_of_marks_are_refused_before_they_are_normalised(kind, form):
    start = time.process_time()
    with pytest.raises(HardalignError, match="more than 32 combining marks in a row"):
        normalize(POISON[kind], form)
    assert time.process_time() - start < 1  # normalising takes hours


@pytest.mark.parametrize("case", ["keep", "lower"])
def test_a_format_refuses_them_too_whatever_it_does_to_its_text(case):
    layout = replace(FORMATS["pairs"], source_case=case)
    start = time.process_time()
    for text in POISON.values():
        for cut in (layout.source_symbols, layout.target_symbols, layout.tag_symbols):
            with pytest.raises(HardalignError, match=r"characters, more than|combining marks"):
                cut(text)
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0301" * MAX_MARKS + "b" + "\u0316" * MAX_MARKS,
        "Z\u0335\u0321\u0353a\u0334\u0327\u035dl\u0337\u0301g\u0336o\u0338",
        "בְּרֵאשִׁ֖ית",
        "بِسْمِ ٱللَّهِ",
        "ที่นี่น้ำ",
        "བསྒྲུབས་ཧཱུྃ",
        "¡" * 1000,
        "ﾊﾞﾋﾟ" * 100,
    ],
)
def test_real_stacks_of_marks_are_read(text):
    assert normalize(text, "NFC") == unicodedata.normalize("NFC", text)


def test_all_that_normalising_turns_into_marks_counts_as_a_mark():
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        first = unicodedata.normalize("NFKD", character)[0]
        if unicodedata.combining(character) or unicodedata.combining(first):
            with pytest.raises(HardalignError, match="combining marks"):
                normalize(character * (MAX_MARKS + 1), "NFC")


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
