from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardalign.text.running import tokens


def of_kind(line: str, kind: str) -> list[str]:
    return [token.text for token in tokens(line) if token.kind == kind]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("The cat sat.", ["The", "cat", "sat"]),
        ("It isn't the cat's.", ["It", "isn't", "the", "cat's"]),
        ("It isn’t; o’clock", ["It", "isn’t", "o’clock"]),
        ("a well-known man", ["a", "well-known", "man"]),
        ("wait--what? no—yes", ["wait", "what", "no", "yes"]),
        ("'quoted' 'em dogs'", ["'quoted'", "'em", "dogs'"]),
        ("“curly” (round) [square]", ["curly", "round", "square"]),
        ("and/or snake_case", ["and", "or", "snake", "case"]),
        ("end.Next file.txt a@b", ["end", "Next", "file", "txt", "a", "b"]),
        ("café cafe\u0301 naïve Straße", ["café", "cafe\u0301", "naïve", "Straße"]),
        ("कुत्ता और बिल्ली", ["कुत्ता", "और", "बिल्ली"]),
        ("кот, 猫", ["кот", "猫"]),
        ("COVID-19", ["COVID"]),
        ("hy\u00adphen zero\u200bwidth \ufeffmark\u2060ed", None),
        ("mi\u200c\u0301x con\u2060-\u2060joined is\u00adn\u00ad't", None),
        ("o´clock isn`t `quoted´", None),
        ("\u00ad -\u00ad- \u200b", []),
    ],
)
def test_words(line: str, words: list[str] | None) -> None:
    if words is None:  # those between blanks
        words = [word.strip("\ufeff") for word in line.split(" ")]
    assert of_kind(line, "word") == words


@pytest.mark.parametrize(
    "number",
    [
        *("1999", "$3.50", "10:30", "3rd", "1990s", "50%", "B2B", "mp3", "1,000,000"),
        *("2024-01-31", "½", "x²", "3+4", "4x4", "£5m", "٣"),
    ],
)
def test_numbers_are_whole(number: str) -> None:
    assert of_kind(f"in {number}, or ({number}).", "number") == [number, number]
    assert of_kind(f"in {number}, or", "word") == ["in", "or"]


def test_a_number_ends_where_a_sentence_does() -> None:
    assert of_kind("In 1999.Then 10:a", "number") == ["1999", "10"]


def test_abbreviations() -> None:
    assert of_kind("The U.S. at 10 a.m., i.e. now", "abbreviation") == ["U.S.", "a.m.", "i.e."]
    assert of_kind("U.S", "abbreviation") == ["U.S"]
    assert of_kind("Mr. A. Smith etc.", "abbreviation") == []


@pytest.mark.parametrize(
    "address",
    [
        *("https://example.org/a-b?c=d&e=1", "HTTP://x.y", "www.example.com/", "ftp://h/~a_(b"),
        *("jane.doe+x@mail.example.co.uk", "ян@почта.рф", "example.com", "Amazon.com", "CNN.COM"),
        *("mail.example.com.au", "bbc.co.uk", "en.x-y.org/wiki/A_(b", "x.net:8080", "x.org/"),
    ],
)
def test_addresses_are_whole(address: str) -> None:
    line = f"see {address}, ({address}) or “{address}”."
    assert of_kind(line, "address") == [address] * 3
    assert of_kind(line, "word") == ["see", "or"]


def test_what_is_no_address() -> None:
    line = "and/or: www.. a@b me @home.Then :// http:// end.Net dot.common .com is.it co.Ltd "
    line += "a" * 10_000 + " " + "a." * 10_000
    assert of_kind(line, "address") == []


def test_symbols() -> None:
    assert of_kind("R & D + 😀 © @home", "symbol") == ["&", "+", "😀", "©", "@"]


@given(st.text(alphabet=st.one_of(st.sampled_from("aB'’-. 1$&é\n"), st.characters())))
def test_nothing_is_lost(line: str) -> None:
    assert "".join(token.text for token in tokens(line)) == line
    assert all(token.text for token in tokens(line))
