from __future__ import annotations

import json
import random
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
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
    Encoded,
    Indexer,
    Vocabulary,
    batches_by_symbols,
    shuffled_batches,
    unknown_symbols,
)
from hardalign.errors import HardalignError
from hardalign.systems.model import pad
from hardalign.systems.network import collate
from helpers import TINY, random_pairs, tiny_vocabulary

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


def reported(*words: str, tags: tuple[str, ...] = ("N",)) -> str | None:
    alphabet = Alphabet(tuple("abc"), ("N",))
    return unknown_symbols(Counter(one for word in words for one in alphabet.unknown(word, tags)))


def test_nothing_unknown_is_not_reported():
    assert reported("abc", "cab") is None


def test_unknown_symbols_are_reported_by_name_and_count():
    assert reported("aéb", "'é'", "é") == (
        "5 source symbols were never seen in training and read as unknown: 'é' × 3, \"'\" × 2"
    )


def test_an_unknown_tag_is_reported():
    assert reported("a", tags=("N", "V")) == (
        "1 source symbol was never seen in training and read as unknown: 'V' × 1"
    )


def test_a_long_report_is_cut():
    word = "".join(chr(ord("α") + k) for k in range(25))
    report = reported(word, word[:20])
    assert report is not None
    assert report.startswith("45 source symbols ")
    assert report.endswith(" × 2 and 5 other symbols")
    assert report.count("×") == 20


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


rows = st.lists(st.lists(st.integers(1, 9), max_size=6), min_size=1, max_size=6)


@given(rows)
def test_rows_are_padded_to_the_longest(numbers: list[list[int]]):
    padded, lengths = pad(numbers)
    assert padded.shape == (len(numbers), max(map(len, numbers)))
    assert padded.dtype == lengths.dtype == np.intp
    for row, length, expected in zip(padded.tolist(), lengths.tolist(), numbers, strict=True):
        assert row[:length] == expected
        assert set(row[length:]) <= {PAD}


def test_collate_keeps_pairs_side_by_side():
    pairs = random_pairs(5)
    batch = collate(pairs)
    assert len(batch) == 5
    assert batch.words.tag_counts.tolist() == [pair.tags for pair in pairs]
    for k, pair in enumerate(pairs):
        assert batch.words.symbols[k, : batch.words.lengths[k]].tolist() == pair.source
        assert batch.targets.symbols[k, : batch.targets.lengths[k]].tolist() == pair.target


def test_collate_without_targets():
    batch = collate([Encoded([BEGIN, END], 0, []), Encoded([BEGIN, 4, END], 0, [])])
    assert batch.targets.symbols.shape == (2, 0)
    assert batch.targets.lengths.tolist() == [0, 0]


def test_a_batch_moves_as_a_whole():
    moved = collate(random_pairs(3)).to(torch.device("meta"))
    tensors = [*vars(moved.words).values(), moved.targets.symbols, moved.targets.lengths]
    assert {tensor.device.type for tensor in tensors} == {"meta"}


def pronunciations(count: int) -> list[Encoded]:
    """Pairs with lengths like those of CMUDict, each with a number of its own inside."""
    generator = random.Random(0)
    pairs = []
    for number in range(count):
        letters = min(max(round(generator.gauss(7.5, 2.2)), 1), 20)
        phones = max(1, round(0.86 * letters + generator.gauss(0, 1)))
        source = [BEGIN, *[RESERVED + number] * letters, END]
        pairs.append(Encoded(source, 0, [*[RESERVED] * phones, END]))
    return pairs


@pytest.mark.parametrize(("count", "size"), [(1, 20), (20, 20), (21, 20), (399, 20), (50, 1)])
def test_every_pair_comes_once_per_epoch(count: int, size: int):
    pairs = pronunciations(count)
    batches = shuffled_batches(pairs, size, random.Random(0))
    found = Counter(id(pair) for batch in batches for pair in batch)
    assert found == Counter(map(id, pairs))
    assert sorted(map(len, batches), reverse=True) == [
        min(size, count - start) for start in range(0, count, size)
    ]


def test_no_pairs_no_batches():
    assert shuffled_batches([], 20, random.Random(0)) == []


def test_little_is_padding():
    symbols = places = 0
    for batch in map(collate, shuffled_batches(pronunciations(20_000), 20, random.Random(0))):
        symbols += int(batch.words.lengths.sum() + batch.targets.lengths.sum())
        places += batch.words.symbols.numel() + batch.targets.symbols.numel()
    assert 1 - symbols / places < 0.05


def test_the_generator_decides_the_order():
    pairs = pronunciations(400)
    first, again, other = (shuffled_batches(pairs, 20, random.Random(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_epochs_differ_in_the_order_of_batches_and_in_their_mates():
    pairs = pronunciations(2000)
    generator = random.Random(0)
    epochs = [shuffled_batches(pairs, 20, generator) for _ in range(2)]
    lengths = [[len(batch[0].source) for batch in epoch] for epoch in epochs]
    assert lengths[0] != lengths[1]
    assert lengths[0] != sorted(lengths[0])
    mates = [{frozenset(map(id, batch)) for batch in epoch} for epoch in epochs]
    assert len(mates[0] & mates[1]) < 0.1 * len(mates[0])


def test_the_pairs_stay_as_they_are():
    pairs = pronunciations(50)
    before = list(pairs)
    shuffled_batches(pairs, 20, random.Random(0))
    assert pairs == before


@given(st.lists(st.integers(1, 40), max_size=80), st.integers(1, 100))
def test_batches_by_symbols_cover_everything_within_the_bound(lengths: list[int], symbols: int):
    batches = list(batches_by_symbols(lengths, symbols))
    assert sorted(k for batch in batches for k in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[k] for k in batch)
        assert len(batch) * longest <= symbols or len(batch) == 1


@given(st.lists(st.integers(1, 40), min_size=1, max_size=80), st.integers(1, 100))
def test_batches_by_symbols_are_full_and_of_similar_length(lengths: list[int], symbols: int):
    batches = list(batches_by_symbols(lengths, symbols))
    order = [lengths[k] for batch in batches for k in batch]
    assert order == sorted(lengths)
    for batch, after in pairwise(batches):
        assert (len(batch) + 1) * lengths[after[0]] > symbols  # one more would be too many
