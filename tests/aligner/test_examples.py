from __future__ import annotations

import pytest

from hardalign.aligner import UnsupervisedAligner
from hardalign.data.formats import Example


def pair(source: str, target: str, tags: str = "") -> Example:
    return Example(tuple(source), (tuple(target),), tuple(tags.split()))


PAIRS = [pair("abc", "ABC"), pair("cab", "CAB"), pair("ahb", "AB"), pair("bha", "BA")]


def test_finds_what_goes_together() -> None:
    alignments = list(UnsupervisedAligner(PAIRS).align(PAIRS))
    assert [links.pairs for links in alignments] == [
        [(0, 0), (1, 1), (2, 2)],
        [(0, 0), (1, 1), (2, 2)],
        [(0, 0), (2, 1)],
        [(0, 0), (2, 1)],
    ]
    assert (alignments[2].source, alignments[2].target) == (tuple("ahb"), tuple("AB"))


def test_tags_are_left_out() -> None:
    (links,) = UnsupervisedAligner(PAIRS).align([pair("ab", "AB", tags="N PL")])
    assert links.tags == ("N", "PL")
    assert links.columns == [3, 4]


def test_symbols_it_has_never_seen() -> None:
    (links,) = UnsupervisedAligner(PAIRS).align([pair("aqb", "AQB")])
    assert links.pairs == [(0, 0), (1, 1), (2, 2)]


def test_what_comes_from_nothing() -> None:
    (links,) = UnsupervisedAligner(PAIRS).align([pair("a", "ABC")])
    assert links.columns.count(None) == 2
    assert links.pairs == [(0, 0)]


def test_more_pairs_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardalign.aligner._BLOCK", 3)
    aligner = UnsupervisedAligner(PAIRS)
    assert list(aligner.align(PAIRS * 2)) == list(aligner.align(PAIRS)) * 2
    assert list(aligner.align([])) == []
