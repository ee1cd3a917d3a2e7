from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hardalign.data.vocabulary import (
    BEGIN,
    END,
    PAD,
    RESERVED,
    Encoded,
    batches_by_symbols,
    shuffled_batches,
)
from hardalign.systems.batch import pad
from hardalign.systems.network import collate
from helpers import random_pairs

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
