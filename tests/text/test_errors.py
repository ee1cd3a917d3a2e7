from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from hardalign.data.formats import FORMATS, Example
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
SPELL = FORMATS["lexicon"].join_target


def found(items: list[Example]) -> ErrorReport:
    predictor: Any = FakePredictor()
    return find_errors(predictor, items)


def test_confusions_with_counts_origins_and_words() -> None:
    report = found(ITEMS)
    assert (report.n, report.wrong, report.slips) == (5, 4, 5)
    first, *others = report.confusions
    assert (str(first.slip), first.count, first.slip.kind) == ("A for AE1", 3, "wrong")
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
    kinds = [(slip.kind, slip.predicted, slip.expected) for slip, _ in slips(one)]
    wrong = sorted(p for kind, p, _ in kinds if kind != "missing")
    right = sorted(e for kind, _, e in kinds if kind != "added")
    kept = sorted(one.predicted)
    for symbol in wrong:
        kept.remove(symbol)
    assert sorted(kept + right) == sorted(one.expected)


def test_the_closest_reference_counts() -> None:
    (wrong,) = found([item("ab", "X Y Z", "A X")]).confusions
    assert str(wrong.slip) == "B for X"
    assert found([item("ab", "X", "A B")]).wrong == 0


def test_groups() -> None:
    report = found([*ITEMS, item("abcdefghijklmnop", "A", tags=("PL", "N"))])
    counts = {name.strip(): (group.n, group.wrong) for name, group in report.lengths.items()}
    assert counts == {"3": (4, 3), "4": (1, 1), "16 and more": (1, 1)}
    assert list(report.lengths) == [" 3", " 4", "16 and more"]
    assert {name: group.n for name, group in report.confidence.items()} == {"0.6 to 0.7": 6}
    assert {name: group.share for name, group in report.tags.items()} == {"PL": 100, "N": 100}


def test_lists_of_single_words() -> None:
    report = found(ITEMS)
    assert [one.example.text for one in report.unsure_right] == ["cat"]
    assert {one.example.text for one in report.sure_wrong} == {"bat", "rat", "gnat", "box"}
    # One pair for every target; the fake gives −1 per symbol and end to what it would not say.
    assert [log_prob for _, log_prob in report.doubts] == sorted([-1.0, -4, -5, -4, -4, -5])
    assert report.doubts[0][0].targets == (("B", "AE1", "T", "S"),)


def test_an_improbable_pair_is_named_by_its_own_line() -> None:
    lines = [item("cat", "K AE1 T"), item("bat", "B"), item("cat", "X Y Z"), item("cat", "K AE1 T")]
    report = found([replace(one, line=line) for line, one in enumerate(lines, start=1)])
    assert report.n == 2
    doubts = {pair.targets[0]: pair.line for pair, _ in report.doubts}
    assert doubts == {("K", "AE1", "T"): 1, ("B",): 2, ("X", "Y", "Z"): 3}
    rows = [row[1:4] for row in tsv_rows(report, SPELL) if row[0] == "improbable pair"]
    assert ["cat", "X Y Z", "3"] in rows


def test_tags_shift_the_columns() -> None:
    report = found([item("ab", "A X", tags=("PL",))])
    assert report.confusions[0].contexts == {"a[b]⊣": 1}
    assert report.confusions[0].tags == {"PL": 1}


def test_rows_of_an_alignment() -> None:
    one = Outcome(item("ab"), ("X", "Y", "Z"), ("X",), 0.5, (1, 1, 3), (2,))
    assert aligned_rows(one) == (["a", "b", "⊣"], ["X Y", "", "Z"], ["", "X", ""])


def test_the_terminal_report() -> None:
    text = terminal_report(found(ITEMS), SPELL)
    assert text.startswith("5 items, 4 wrong (80.0%), 5 symbols wrong, missing or added\n")
    assert re.search(r"A for AE1 +3 +60.0% +a × 2, n × 1 +bat, rat, gnat\n", text)
    assert re.search(r"-5.00 +2 +bat +B AE1 T S\n", text)
    assert "By tag" not in text
    assert terminal_report(found(ITEMS[:1]), SPELL).count("confusions") == 0


def test_rows_for_a_spreadsheet() -> None:
    rows = list(tsv_rows(found(ITEMS), SPELL))
    assert rows[1] == [
        *("wrong", "A for AE1", "3", "5", "0.600000", "a × 2, n × 1"),
        *("b[a]t × 1, r[a]t × 1, g[n]a × 1", "", "bat, rat, gnat"),
    ]
    sections = {row[0] for row in rows}
    assert {"missing", "added", "length", "confidence", "confident error"} <= sections
    assert all(not re.search(r"[\t\n]", cell) for row in rows for cell in row)


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
    checker.feed(page(found(ITEMS), SPELL, "Errors", "signature"))
    assert checker.open == []
    assert checker.seen.count("details") == 3
    assert not {"script", "img", "link"} & set(checker.seen)
    assert "A for AE1" in checker.text


def test_nothing_on_the_page_is_markup_of_the_data() -> None:
    predictor: Any = FakePredictor(letters="<b>&\"'", phones=["<I>", "<", "B", ">", "&", '"', "'"])
    items = [item('<b>&"', "<I>"), item("'>", "< >", tags=("<u>",))]
    report = find_errors(predictor, items)
    checker = Checker()
    checker.feed(page(report, SPELL, "<s>title", "<s>"))
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
    assert report.doubts[0][1] == -math.inf
    assert page(report, SPELL, "t", "s")
