from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardalign.data.formats import Example
from hardalign.data.vocabulary import (
    BEGIN,
    END,
    PAD,
    RESERVED,
    UNKNOWN,
    Alphabet,
    UnknownSymbols,
    Vocabulary,
)
from hardalign.errors import HardalignError

symbols = st.lists(st.text(min_size=1, max_size=5), max_size=6).map(tuple)
examples = st.lists(
    st.builds(Example, symbols, st.lists(symbols, max_size=3).map(tuple), symbols), max_size=5
)

INFLECTION = Vocabulary.of(
    [
        Example(("N", "a"), (("b", "N"),), ("N", "PL")),
        Example(("c",), (("a",), ("d",)), ("V",)),
    ]
)


def test_symbols_are_collected_in_order_from_every_target():
    assert INFLECTION.source == Alphabet(("N", "a", "c"), ("N", "PL", "V"))
    assert INFLECTION.target == Alphabet(("N", "a", "b", "d"))
    assert len(INFLECTION.source) == RESERVED + 6
    assert len(INFLECTION.target) == RESERVED + 4


def test_a_source_is_begin_tags_letters_end():
    numbers = INFLECTION.encode_source(Example(("c", "a"), (), ("PL",)))
    assert numbers == [BEGIN, RESERVED + 4, RESERVED + 2, RESERVED + 1, END]


def test_a_tag_is_not_the_letter_of_the_same_spelling():
    (tag,) = INFLECTION.source.encode((), ("N",))
    (letter,) = INFLECTION.source.encode(("N",))
    assert tag != letter


def test_letters_and_tags_are_not_mistaken_for_each_other():
    assert INFLECTION.source.encode(("PL",), ("a",)) == [UNKNOWN, UNKNOWN]
    assert INFLECTION.source.unknown(("PL",), ("a",)) == ["a", "PL"]


@pytest.mark.parametrize("spelling", ["<s>", "</s>", "[PAD]", "<unk>", "<pad>", "", " ", "\u0000"])
def test_no_spelling_is_reserved(spelling: str):
    vocabulary = Vocabulary.of([Example((spelling,), ((spelling,),), (spelling,))])
    begin, tag, letter, end = vocabulary.encode_source(Example((spelling,), (), (spelling,)))
    assert (begin, end) == (BEGIN, END)
    assert RESERVED <= letter < tag < len(vocabulary.source)
    (number,) = vocabulary.target.encode((spelling,))
    assert number >= RESERVED
    assert vocabulary.target.decode([number]) == (spelling,)


def test_reserved_numbers_differ():
    assert len({PAD, BEGIN, UNKNOWN, END}) == RESERVED
    assert max(PAD, BEGIN, UNKNOWN, END) < RESERVED


@given(examples)
def test_known_symbols_come_back(known: list[Example]):
    vocabulary = Vocabulary.of(known)
    for example in known:
        numbers = vocabulary.encode_source(example)
        assert UNKNOWN not in numbers
        assert vocabulary.source.unknown(example.source, example.tags) == []
        assert vocabulary.source.decode(numbers[1 + len(example.tags) : -1]) == example.source
        for target in example.targets:
            assert vocabulary.target.decode(vocabulary.target.encode(target)) == target


@given(examples)
def test_round_trip_through_json(known: list[Example]):
    vocabulary = Vocabulary.of(known)
    assert Vocabulary.from_dict(json.loads(json.dumps(vocabulary.to_dict()))) == vocabulary


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        [],
        "vocabulary",
        {},
        {"source": {"letters": ["a"], "tags": []}},
        {"source": {"letters": ["a"]}, "target": {"letters": ["b"]}},
        {"source": ["a"], "target": {"letters": ["b"]}},
        {"source": {"letters": 3, "tags": []}, "target": {"letters": ["b"]}},
        {"source": {"letters": [["a"]], "tags": []}, "target": {"letters": ["b"]}},
        {"source": {"letters": ["a"], "tags": None}, "target": {"letters": ["b"]}},
        {"source": {"letters": "ab", "tags": []}, "target": {"letters": ["b"]}},
        {"source": {"letters": [1, "a"], "tags": []}, "target": {"letters": ["b"]}},
        {"source": {"letters": ["a"], "tags": []}, "target": {"letters": ["b", None]}},
        {"source": {"letters": ["a"], "tags": []}, "target": {"letters": ["b", "b"]}},
    ],
)
def test_a_damaged_vocabulary_is_reported(damaged: Any):
    with pytest.raises(HardalignError, match="not a vocabulary"):
        Vocabulary.from_dict(damaged)


def noted(*words: str) -> UnknownSymbols:
    unknown = UnknownSymbols(Alphabet(tuple("abc"), ("N",)))
    for word in words:
        unknown.note(Example(tuple(word), (), ("N",)))
    return unknown


def test_nothing_unknown_is_not_reported():
    assert noted("abc", "cab").report() is None


def test_unknown_symbols_are_reported_by_name_and_count():
    assert noted("aéb", "'é'", "é").report() == (
        "5 source symbols were never seen in training and read as unknown: 'é' × 3, \"'\" × 2"
    )


def test_an_unknown_tag_is_reported():
    unknown = noted()
    unknown.note(Example(("a",), (), ("N", "V")))
    assert unknown.report() == (
        "1 source symbol was never seen in training and read as unknown: 'V' × 1"
    )


def test_a_long_report_is_cut():
    word = "".join(chr(ord("α") + k) for k in range(25))
    report = noted(word, word[:20]).report()
    assert report is not None
    assert report.startswith("45 source symbols ")
    assert report.endswith(" × 2 and 5 other symbols")
    assert report.count("×") == 20
