from __future__ import annotations

import numpy as np

from hardalign.data.vocabulary import BEGIN, END, PAD, Encoded
from hardalign.systems.model import Targets, Words, pad, previous_symbols
from hardalign.systems.ops.numpy import NumpyOps
from helpers import random_pairs

XP = NumpyOps()


def test_words_side_by_side() -> None:
    pairs = random_pairs(9)
    words = Words.of(pairs)
    assert len(words) == 9
    for k, pair in enumerate(pairs):
        length = len(pair.source)
        assert words.symbols[k].tolist() == pair.source + [PAD] * (words.symbols.shape[1] - length)
        assert words.mask(XP)[k].sum() == words.lengths[k] == length
        assert words.mask(XP)[k, :length].all()
        assert words.tag_counts[k] == pair.tags


def test_targets_are_told_what_came_before() -> None:
    targets = Targets.of([1, 0], [[4, 5, END], [END]])
    assert previous_symbols(XP, targets.symbols).tolist() == [[BEGIN, 4, 5], [BEGIN, END, PAD]]
    assert targets.classes.tolist() == [[1, 2, 0], [0, 0, 0]]
    assert targets.mask(XP).tolist() == [[True] * 3, [True, False, False]]


def test_nothing_to_pad() -> None:
    padded, lengths = pad([])
    assert padded.shape == (0, 0)
    assert lengths.dtype == np.intp


def test_words_without_their_tags() -> None:
    pairs = random_pairs(20)
    letters = Words.of(pairs).letters_only(XP)
    for pair, symbols, length in zip(pairs, letters.symbols, letters.lengths, strict=True):
        expected = [pair.source[0], *pair.source[1 + pair.tags :]]
        assert symbols[:length].tolist() == expected
        assert (symbols[length:] == 0).all()
    assert (letters.tag_counts == 0).all()


def test_where_symbols_are_among_begin_letters_and_end() -> None:
    words = Words.of([Encoded([BEGIN, 9, 8, 7, 6, END], 2, []), Encoded([BEGIN, 7, END], 0, [])])
    assert words.is_tag(XP)[0].tolist() == [False, True, True, False, False, False]
    assert not words.is_tag(XP)[1].any()
    assert words.columns(XP)[0].tolist() == [0, -1, -1, 1, 2, 3]
    assert words.columns(XP)[1, :3].tolist() == [0, 1, 2]
