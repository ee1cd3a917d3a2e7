from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conftest import TINY, tiny_vocabulary
from hardalign.data.encoding import Encoded, Numbering
from hardalign.data.example import Example
from hardalign.data.vocabulary import BEGIN, END, RESERVED, UNKNOWN

PLAIN, COPYING = Numbering(TINY), Numbering(TINY, strangers=2)
SOURCE, TARGET = len(TINY.source), len(TINY.target)
letters = st.lists(st.sampled_from("abxyéüñß"), max_size=8).map(tuple)


def test_pairs_are_numbered():
    example = Example(("a", "?"), (("y", "x"),), ("V",))
    source = [BEGIN, RESERVED + 5, RESERVED, UNKNOWN, END]
    assert PLAIN.pair(example) == Encoded(source, 1, [RESERVED + 1, RESERVED, END])


def test_an_empty_target_is_an_end():
    assert PLAIN.pair(Example(("a",), ((),))).target == [END]


def test_sources_are_numbered_without_a_target():
    example = Example(("a",), (("x",),), ("N", "V"))
    source = [BEGIN, RESERVED + 4, RESERVED + 5, RESERVED, END]
    assert PLAIN.source(example) == Encoded(source, 2, [])


def test_strangers_have_numbers_beyond_both_alphabets():
    example = Example(("é", "a", "ü", "é"), (("ü", "x", "é"),), ("N",))
    source = [BEGIN, RESERVED + 4, SOURCE, RESERVED, SOURCE + 1, SOURCE, END]
    expected = Encoded(source, 1, [TARGET + 1, RESERVED, TARGET, END], ("é", "ü"))
    assert COPYING.pair(example) == expected
    assert COPYING.source(example) == Encoded(source, 1, [], ("é", "ü"))


def test_what_is_no_letter_of_the_source_stays_unknown():
    encoded = COPYING.pair(Example(("a", "é"), (("ü", "é"),)))
    assert encoded.target == [UNKNOWN, TARGET, END]


def test_after_the_last_number_letters_are_unknown():
    encoded = COPYING.pair(Example(("é", "ü", "ñ"), (("ñ", "ü"),)))
    assert encoded.source == [BEGIN, SOURCE, SOURCE + 1, UNKNOWN, END]
    assert encoded.target == [UNKNOWN, TARGET + 1, END]


def test_a_letter_of_the_other_side_is_no_stranger():
    # It has a number there, and a string must not be written in two ways.
    encoded = COPYING.pair(Example(("x",), (("a", "x"),)))
    assert encoded == Encoded([BEGIN, UNKNOWN, END], 0, [UNKNOWN, RESERVED, END])


def test_an_unknown_tag_is_no_stranger():
    encoded = COPYING.source(Example(("é",), (), ("é",)))
    assert encoded.source == [BEGIN, UNKNOWN, SOURCE, END]


@given(letters, letters, st.integers(0, 3))
def test_what_can_be_written_comes_back(source, target, strangers):
    numbering = Numbering(tiny_vocabulary("abc", (), "axy"), strangers)
    pair = Example(source, (target,))
    encoded = numbering.pair(pair)
    written, unwritable = encoded.target[:-1], numbering.unwritable(pair)
    assert len(encoded.strangers) <= strangers
    assert set(encoded.strangers) <= set(source)
    assert written.count(UNKNOWN) == len(unwritable)
    assert all(letter not in encoded.strangers for letter in unwritable)
    if not unwritable:
        decoded = numbering.vocabulary.target.decode(written, encoded.strangers)
        assert decoded == target
    assert encoded.source == numbering.source(pair).source
