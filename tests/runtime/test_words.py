from __future__ import annotations

import numpy as np

from hardalign.data.vocabulary import BEGIN, END, PAD, UNKNOWN, Encoded
from hardalign.runtime.words import Targets, Words, pad, source_columns
from helpers import random_pairs


def test_words_side_by_side() -> None:
    pairs = random_pairs(9)
    words = Words.of(pairs)
    assert len(words) == 9
    for k, pair in enumerate(pairs):
        length = len(pair.source)
        assert words.symbols[k].tolist() == pair.source + [PAD] * (words.symbols.shape[1] - length)
        assert words.present[k].sum() == words.lengths[k] == length
        assert words.present[k, :length].all()
        assert words.tag_counts[k] == pair.tags


def test_targets_are_told_what_came_before() -> None:
    targets = Targets.of([1, 0], [[4, 5, END], [END]])
    assert targets.previous.tolist() == [[BEGIN, 4, 5], [BEGIN, END, PAD]]
    assert targets.classes.tolist() == [[1, 2, 0], [0, 0, 0]]
    assert targets.steps.tolist() == [[True] * 3, [True, False, False]]
    second = targets.at(1)
    assert second.symbols.tolist() == [[5], [PAD]]
    assert second.steps.tolist() == [[True], [False]]
    assert second.word.tolist() == [1, 0]


def test_nothing_to_pad() -> None:
    padded, lengths = pad([])
    assert padded.shape == (0, 0)
    assert lengths.dtype == np.intp


def test_words_without_their_tags() -> None:
    pairs = random_pairs(20)
    letters = Words.of(pairs).letters_only()
    for pair, symbols, length in zip(pairs, letters.symbols, letters.lengths, strict=True):
        expected = [pair.source[0], *pair.source[1 + pair.tags :]]
        assert symbols[:length].tolist() == expected
        assert (symbols[length:] == 0).all()
        columns = source_columns(np.arange(length), np.array(pair.tags))
        assert [pair.source[k] for k in columns] == expected
    assert (letters.tag_counts == 0).all()


def test_tags_are_counted() -> None:
    pair = Encoded([BEGIN, 9, 8, 9, UNKNOWN, 7, 8, END], 4, [])
    words = Words.of([pair, Encoded([BEGIN, 7, END], 0, [])])
    assert words.count_tags(8, 3).tolist() == [[1, 2, 0], [0, 0, 0]]
