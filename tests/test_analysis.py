from __future__ import annotations

import json

from hardalign.analysis import AnalyzedPrediction, Breakdown


def item(correct: bool, monotonic: bool) -> AnalyzedPrediction:
    return AnalyzedPrediction("ab", "AB", ["AB"], correct, monotonic, [(1, 0), (0, 1)])


ITEMS = [item(True, True)] * 5 + [item(False, True)] * 3 + [item(True, False)] * 2
ITEMS += [item(False, False)]


def test_table() -> None:
    breakdown = Breakdown.of(iter(ITEMS))
    assert [line.split() for line in breakdown.table().splitlines()] == [
        ["correct", "incorrect"],
        ["monotonic", "5", "3"],
        ["non-monotonic", "2", "1"],
    ]
    assert breakdown.crossing == ITEMS[8:]


def test_as_json() -> None:
    content = json.loads(json.dumps(Breakdown.of(ITEMS, 0.2).to_dict()))
    assert content["n"] == 11
    assert content["correct"] == {"monotonic": 5, "non_monotonic": 2}
    assert content["incorrect"] == {"monotonic": 3, "non_monotonic": 1}
    assert content["threshold"] == 0.2
    assert content["non_monotonic_items"][0]["edges"] == [[1, 0], [0, 1]]


def test_nothing() -> None:
    assert Breakdown.of([]).to_dict()["n"] == 0
