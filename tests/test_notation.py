from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardalign.errors import HardalignError
from hardalign.notation import Links, read_symbols, write_pharaoh, write_symbols


def links(source: str, target: str, columns: list[int | None], tags: str = "") -> Links:
    return Links(tuple(source.split()), tuple(tags.split()), tuple(target.split()), columns)


def test_pharaoh() -> None:
    assert write_pharaoh([(0, 0), (2, 1), (1, 2)]) == "0-0 2-1 1-2"
    assert write_pharaoh([]) == ""


def test_pairs_count_from_the_users_first_symbol() -> None:
    found = links("a b", "w x y z u", [0, 2, 3, None, 4], tags="T")
    assert found.pairs == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (links("a c t i o n", "AE K SH AH N", [1, 2, 3, 5, 6]), "a:AE c:K t:SH i: o:AH n:N"),
        (links("m e j r", "m e j m e j r", [1, 2, 3, 1, 2, 3, 4]),
         "m:m|m@3 e:e@1|e@4 j:j@2|j@5 r:r"),
        (links("x", "k s", [1, 1]), "x:k|s"),
        (links("d o g", "d o g s", [3, 4, 5, 2], tags="N PL"), "+N: +PL:s@3 d:d@0 o:o g:g"),
        (links("a", "p a s", [0, 1, 2]), "⊢:p a:a ⊣:s"),
        (links("a b", "x y z", [None, 1, None]), ":x a:y :z b:"),
        (links("i :", "i: :", [1, 2]), r"i:i: \:::"),
        (links("+ ⊢ \\", "| @ @3", [1, 2, 3]), r"\+:\| \⊢:@ \\:\@3"),
        (Links(("New", " "), (), ("\u3000",), [2]), r"New: \s:\u{3000}"),
        (Links((), (), (), []), ""),
    ],
)  # fmt: skip
def test_aligned_symbols(given: Links, text: str) -> None:
    assert write_symbols(given) == text
    assert read_symbols(text) == given


SYMBOLS = st.text(st.sampled_from("ab:|@+⊢⊣\\ su{}0129\t\n\u00a0\u2028\u0301한"), min_size=1)


@given(st.data(), *(st.lists(SYMBOLS, max_size=5) for _ in range(3)))
def test_whatever_is_written_can_be_read(
    data: st.DataObject, source: list[str], tags: list[str], target: list[str]
) -> None:
    places = st.none() | st.integers(0, len(source) + len(tags) + 1)
    columns = data.draw(st.lists(places, min_size=len(target), max_size=len(target)))
    given = Links(tuple(source), tuple(tags), tuple(target), columns)
    written = write_symbols(given)
    assert "\n" not in written
    assert "\t" not in written
    assert read_symbols(written) == given


@pytest.mark.parametrize(
    "text",
    ["a", "a:x b", "a:x||y", "a:x@1", "a:x b:y@0", "a:x\\", "a: +T:", "a:x  b:y", r"a:\u{110000}"],
)
def test_what_is_no_notation(text: str) -> None:
    with pytest.raises(HardalignError):
        read_symbols(text)
