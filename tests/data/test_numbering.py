from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hardalign.data.formats import Example
from hardalign.data.vocabulary import BEGIN, END, RESERVED, UNKNOWN, Encoded, Indexer
from helpers import TINY, tiny_vocabulary

PLAIN, COPYING = Indexer(TINY), Indexer(TINY, lambda symbol: symbol != "?")
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
    first, second = SOURCE + TARGET, SOURCE + TARGET + 1
    source = [BEGIN, RESERVED + 4, first, RESERVED, second, first, END]
    expected = Encoded(source, 1, [TARGET + 1, RESERVED, TARGET, END], ("é", "ü"))
    assert COPYING.pair(example) == expected
    assert COPYING.source(example) == Encoded(source, 1, [], ("é", "ü"))


def test_what_is_no_letter_of_the_source_stays_unknown():
    encoded = COPYING.pair(Example(("a", "é"), (("ü", "é"),)))
    assert encoded.target == [UNKNOWN, TARGET, END]


def test_what_a_target_cannot_have_stays_unknown():
    encoded = COPYING.pair(Example(("?", "é"), (("é", "?"),)))
    assert encoded == Encoded(
        [BEGIN, UNKNOWN, SOURCE + TARGET, END], 0, [TARGET, UNKNOWN, END], ("é",)
    )


def test_a_letter_of_the_other_side_is_no_stranger():
    # It has its number there, since a string must not be written in two ways.
    encoded = COPYING.pair(Example(("x", "é"), (("a", "x"),)))
    source = [BEGIN, SOURCE + RESERVED, SOURCE + TARGET, END]
    assert encoded == Encoded(source, 0, [UNKNOWN, RESERVED, END], ("é",))


def test_an_unknown_tag_is_no_stranger():
    encoded = COPYING.source(Example(("é",), (), ("é",)))
    assert encoded.source == [BEGIN, UNKNOWN, SOURCE + TARGET, END]


@given(letters, letters, st.booleans())
def test_what_can_be_written_comes_back(source, target, copies):
    indexer = Indexer(tiny_vocabulary("abc", (), "axy"), (lambda s: s != "ß") if copies else None)
    pair = Example(source, (target,))
    encoded = indexer.pair(pair)
    written, unwritable = encoded.target[:-1], indexer.unwritable(pair)
    seen = set("axy") | (set(source) - set("abcxyß") if copies else set())
    assert unwritable == [letter for letter in target if letter not in seen]
    assert written.count(UNKNOWN) == len(unwritable)
    if not unwritable:
        decoded = indexer.vocabulary.target.decode(written, encoded.oov)
        assert decoded == target
    assert encoded.source == indexer.source(pair).source
    # Whatever can be copied is copied to the number that it has in a target.
    whole = indexer.pair(Example(source, (source,)))
    for letter, read, said in zip(source, whole.source[1:-1], whole.target, strict=False):
        if copies and letter not in "abcß":
            assert read == len(indexer.vocabulary.source) + said
        elif letter not in "abc":
            assert read == UNKNOWN
