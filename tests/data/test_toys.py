from itertools import islice

import pytest

from hardalign.data.toys import CONSONANTS, TASKS, VOWELS, toy_target, toy_words, true_alignment
from hardalign.errors import HardalignError

WORDS = list(islice(toy_words(seed=1), 2000))


def test_words_are_distinct_and_seeded():
    assert len(set(WORDS)) == 2000
    assert list(islice(toy_words(seed=1), 2000)) == WORDS
    assert list(islice(toy_words(seed=2), 2000)) != WORDS


def test_words_have_an_onset_a_vowel_and_a_consonant():
    for word in WORDS:
        onset = len(word) - len(word.lstrip(CONSONANTS))
        assert 1 <= onset <= 2
        assert word[onset] in VOWELS
        assert word[onset + 1] in CONSONANTS
        assert 0 <= len(word) - onset - 2 <= 6


def test_targets():
    assert toy_target("copy", "mejr") == "mejr"
    assert toy_target("reverse", "mejr") == "rjem"
    assert toy_target("reduplication", "mejr") == "mejmejr"
    assert toy_target("reduplication", "splaten") == "splatsplaten"


def test_alignments():
    assert true_alignment("copy", "mejr") == [0, 1, 2, 3]
    assert true_alignment("toy:reverse", "mejr") == [3, 2, 1, 0]
    assert true_alignment("toy:reduplication", tuple("mejr")) == [0, 1, 2, 0, 1, 2, 3]


@pytest.mark.parametrize("task", TASKS)
def test_the_alignment_spells_the_target(task):
    for word in WORDS[:200]:
        indices = true_alignment(task, word)
        assert "".join(word[index] for index in indices) == toy_target(task, word)
        assert set(indices) == set(range(len(word)))


def test_reduplication_is_never_monotonic():
    for word in WORDS:
        indices = true_alignment("reduplication", word)
        assert indices != sorted(indices)


@pytest.mark.parametrize("word", ["", "str", "ma", "a"])
def test_a_word_that_cannot_be_reduplicated(word):
    with pytest.raises(HardalignError, match=f"'{word}' has no vowel with a letter after it"):
        true_alignment("reduplication", word)


def test_unknown_task():
    with pytest.raises(HardalignError, match="'sort'; choose one of copy, reverse, reduplication"):
        true_alignment("sort", "abc")
