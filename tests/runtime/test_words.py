from __future__ import annotations

import numpy as np

from conftest import random_pairs
from hardalign.data.vocabulary import BEGIN, END, PAD
from hardalign.runtime.words import Targets, Words, pad


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
