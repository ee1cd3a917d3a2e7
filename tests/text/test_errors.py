from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from hardalign.alignment import Alignment
from hardalign.data.formats import Example
from hardalign.text.errors import (
    ErrorReport,
    Outcome,
    aligned_rows,
    find_errors,
    page,
    slips,
    terminal_report,
    tsv_rows,
)
from text.fakes import FakePredictor


def item(word: str, *targets: str, tags: tuple[str, ...] = (), line: int = 0) -> Example:
    return Example(tuple(word), tuple(tuple(t.split()) for t in targets), tags, word, line)


ITEMS = [
    item("cat", "C A T", line=1),
    item("bat", "B AE1 T", "B AE1 T S", line=2),
    item("rat", "R AE1 T", line=3),
    item("gnat", "N AE1 T", line=4),
    item("box", "B O X S", line=5),
]


def found(items: list[Example]) -> ErrorReport:
    predictor: Any = FakePredictor()
    return find_errors(predictor, items)


def rows(report: ErrorReport, caption: str) -> list[tuple[str, ...]]:
    """The rows of the table with such a caption, none if it has none."""
    return [row for table in report.tables if caption in table.caption for row in table.rows]


def test_confusions_with_counts_origins_and_words() -> None:
    report = found(ITEMS)
    assert (report.n, report.wrong, report.slips) == (5, 4, 5)
    first, *others = report.confusions
    assert (str(first.slip), first.count) == ("A for AE1", 3)
    # The fake aligns the k-th symbol with the k-th letter.
    assert first.letters == {"a": 2, "n": 1}
    assert first.contexts == {"b[a]t": 1, "r[a]t": 1, "g[n]a": 1}
    assert [one.example.text for one in first.words] == ["bat", "rat", "gnat"]
    assert {str(one.slip): one.count for one in others} == {"G added": 1, "S missing": 1}


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        ("A B C", "A X C"),
        ("A B", "A B C"),
        ("A A B", "A B"),
        ("", "A"),
        ("A", ""),
        ("A B", "C D E"),
    ],
)
def test_slips_turn_the_prediction_into_the_reference(predicted: str, expected: str) -> None:
    one = Outcome(item("abc"), tuple(predicted.split()), tuple(expected.split()), 0.5)
    found = [slip for slip, *_ in slips(one)]
    kept = sorted(one.predicted)
    for slip in found:
        if slip.predicted:
            kept.remove(slip.predicted)
    assert sorted(kept + [slip.expected for slip in found if slip.expected]) == sorted(one.expected)


def test_the_closest_reference_counts() -> None:
    (wrong,) = found([item("ab", "X Y Z", "A X")]).confusions
    assert str(wrong.slip) == "B for X"
    assert found([item("ab", "X", "A B")]).wrong == 0


def test_groups() -> None:
    report = found([*ITEMS, item("abcdefghijklmnop", "A", tags=("PL", "N"))])
    assert rows(report, "By length") == [
        (" 3", "4", "3", "75.0%"),
        (" 4", "1", "1", "100.0%"),
        ("16 and more", "1", "1", "100.0%"),
    ]
    assert rows(report, "By confidence") == [("0.6 to 0.7", "6", "5", "83.3%")]
    assert rows(report, "By tag") == [("PL", "1", "1", "100.0%"), ("N", "1", "1", "100.0%")]
    assert rows(found(ITEMS), "By tag") == []


def test_lists_of_single_words() -> None:
    report = found(ITEMS)
    assert rows(report, "Least confident") == [("cat", "C A T", "C A T", "0.600")]
    assert {row[0] for row in rows(report, "Most confident")} == {"bat", "rat", "gnat", "box"}
    # One pair for every target; the fake gives −1 per symbol and end to what it would not say.
    doubtful = rows(report, "Least probable pairs")
    assert [row[-1] for row in doubtful] == ["-5.00", "-5.00", "-4.00", "-4.00", "-4.00", "-1.00"]
    assert doubtful[0] == ("bat", "B AE1 T S", "2", "-5.00")


def test_an_improbable_pair_is_named_by_its_own_line() -> None:
    lines = [item("cat", "K AE1 T"), item("bat", "B"), item("cat", "X Y Z"), item("cat", "K AE1 T")]
    report = found([replace(one, line=line) for line, one in enumerate(lines, start=1)])
    assert report.n == 2
    doubtful = {row[1]: row[2] for row in rows(report, "Least probable pairs")}
    assert doubtful == {"K AE1 T": "1", "B": "2", "X Y Z": "3"}


def test_tags_shift_the_columns() -> None:
    report = found([item("ab", "A X", tags=("PL",))])
    assert report.confusions[0].contexts == {"a[b]⊣": 1}


def test_rows_of_an_alignment() -> None:
    def aligned(target: str, *path: int) -> Alignment:
        weights = np.eye(4)[[*path, 3]]
        return Alignment(("a", "b"), tuple(target.split()), (), weights, "path")

    alignments = aligned("X Y Z", 1, 1, 3), aligned("X", 2)
    one = Outcome(item("ab"), ("X", "Y", "Z"), ("X",), 0.5, alignments=alignments)
    assert aligned_rows(one) == (["a", "b", "⊣"], ["X Y", "", "Z"], ["", "X", ""])


def test_the_terminal_report() -> None:
    text = terminal_report(found(ITEMS))
    assert text.startswith("5 items, 4 wrong (80.0%), 5 symbols wrong, missing or added\n")
    assert re.search(r"A for AE1 +3 +60.0% +a × 2, n × 1 +bat, rat, gnat\n", text)
    assert re.search(r"bat +B AE1 T S +2 +-5.00\n", text)
    assert "By tag" not in text
    assert terminal_report(found(ITEMS[:1])).count("confusions") == 0


def test_rows_for_a_spreadsheet() -> None:
    written = list(tsv_rows(found(ITEMS)))
    assert written[:2] == [
        ["Commonest confusions", "", "count", "share", "from", "words", "context"],
        [
            *("Commonest confusions", "A for AE1", "3", "60.0%", "a × 2, n × 1"),
            *("bat, rat, gnat", "b[a]t × 1, r[a]t × 1, g[n]a × 1"),
        ],
    ]
    assert ["Most confident errors", "box", "B O X", "B O X S", "0.600"] in written
    assert ["By length of the source", "3", "4", "3", "75.0%"] in written
    assert all(not re.search(r"[\t\n]", cell) for row in written for cell in row)


class Checker(HTMLParser):
    """Counts tags and fails where one is closed that is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_is_whole_and_has_no_scripts() -> None:
    checker = Checker()
    checker.feed(page(found(ITEMS), "Errors", "signature"))
    assert checker.open == []
    assert checker.seen.count("details") == 3
    assert not {"script", "img", "link"} & set(checker.seen)
    assert "A for AE1" in checker.text


def test_nothing_on_the_page_is_markup_of_the_data() -> None:
    predictor: Any = FakePredictor(letters="<b>&\"'", phones=["<I>", "<", "B", ">", "&", '"', "'"])
    items = [item('<b>&"', "<I>"), item("'>", "< >", tags=("<u>",))]
    report = find_errors(predictor, items)
    checker = Checker()
    checker.feed(page(report, "<s>title", "<s>"))
    assert checker.open == []
    assert not {"b>", "u", "i", "s"} & set(checker.seen)
    assert '<b>&"' in checker.text


def test_a_reference_the_model_cannot_spell_has_no_origin() -> None:
    class Unable(FakePredictor):
        def align_pairs(self, pairs: Any, *, threads: int = 1) -> Any:
            for pair, alignment in super().align_pairs(pairs):
                yield pair, None if "?" in pair.targets[0] else alignment

        def score(self, pairs: Any, *, threads: int = 1) -> Any:
            yield from ([-math.inf] for _ in pairs)

    predictor: Any = Unable()
    report = find_errors(predictor, [item("a", "?")])
    assert report.confusions[0].letters == {}
    assert rows(report, "Least probable pairs")[0][-1] == "-inf"
    assert page(report, "t", "s")


def test_weights_of_alignments_are_not_held() -> None:
    alignments = [
        alignment
        for confusion in found(ITEMS).confusions
        for outcome in confusion.words
        for alignment in outcome.alignments
        if alignment
    ]
    assert alignments
    assert not any(alignment.weights.size for alignment in alignments)
