from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardalign.metrics import evaluate, intervals, score_item, summarize

# Multi-character symbols beside their own characters: only whole symbols may match.
symbols = st.lists(st.sampled_from(["A", "E", "AE", "AE1", "1", "é", "字"]), max_size=7).map(tuple)
references_of_one = st.lists(symbols, min_size=1, max_size=3)


def naive_distance(a: Sequence[str], b: Sequence[str]) -> int:
    """Wagner and Fischer's table, cell by cell."""
    table = [[max(i, j) for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(
                table[i - 1][j] + 1,
                table[i][j - 1] + 1,
                table[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
            )
    return table[len(a)][len(b)]


def naive_f_score(candidate: Sequence[str], reference: Sequence[str]) -> float:
    """The appendix, equation by equation."""
    if not candidate and not reference:
        return 1.0
    lcs = (len(candidate) + len(reference) - naive_distance(candidate, reference)) / 2
    recall = lcs / len(reference) if reference else 0.0
    precision = lcs / len(candidate) if candidate else 0.0
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


def test_hand_computed_values() -> None:
    metrics = evaluate(
        [tuple("kitten"), tuple("abc"), (), ("AE1", "K")],
        [
            [tuple("sitting")],  # distance 3, length 7, F = 1 - 3/13
            [tuple("xbc"), tuple("abc")],  # the second matches
            [tuple("ab"), tuple("abcd")],  # distance 2, length 2, F = 0
            [("AE0", "K"), ("AE1", "K", "S")],  # both at distance 1: the longer; F = 1 - 1/5
        ],
    )
    assert metrics.n == 4
    assert metrics.acc == 25.0
    assert metrics.wer == 75.0
    assert metrics.per == pytest.approx((3 / 7 + 0 + 1 + 1 / 3) / 4)
    assert metrics.per_corpus == pytest.approx(6 / 15)
    assert metrics.mfs == pytest.approx((10 / 13 + 1 + 0 + 4 / 5) / 4)
    assert metrics.mld == 1.5


@pytest.mark.parametrize(
    ("prediction", "reference", "distance", "error_rate", "f_score"),
    [
        ("", "", 0, 0.0, 1.0),
        ("", "abc", 3, 1.0, 0.0),
        ("abc", "", 3, 3.0, 0.0),
        ("ab", "abcd", 2, 0.5, 2 / 3),
        ("abc", "xyz", 3, 1.0, 0.5),
    ],
)
def test_empty_strings_and_plain_ones(
    prediction: str, reference: str, distance: int, error_rate: float, f_score: float
) -> None:
    item = score_item(tuple(prediction), [tuple(reference)])
    assert item.distance == distance
    assert item.correct == (prediction == reference)
    assert item.error_rate == pytest.approx(error_rate)
    assert item.f_score == pytest.approx(f_score)


def test_only_empty_references() -> None:
    assert evaluate([()], [[()]]).per_corpus == 0
    assert evaluate([("a", "b")], [[()]]).per_corpus == 2


def test_a_symbol_of_several_characters_is_one_symbol() -> None:
    assert score_item(("AE1",), [("AE2",)]).distance == 1
    assert score_item(("A", "E"), [("AE",)]).distance == 2
    assert score_item(["AE1"], [("AE1",)]).correct


def test_of_equally_close_references_the_longest_counts_in_any_order() -> None:
    short, long = tuple("ab"), tuple("abcd")
    assert score_item(tuple("abc"), [short, long]) == score_item(tuple("abc"), [long, short])
    assert score_item(tuple("abc"), [short, long]).reference_length == 4


@given(st.lists(st.tuples(symbols, references_of_one), min_size=1, max_size=5))
def test_agrees_with_a_naive_implementation(
    items: list[tuple[tuple[str, ...], list[tuple[str, ...]]]],
) -> None:
    metrics = evaluate([p for p, _ in items], [r for _, r in items])
    closest = [min(refs, key=lambda r, p=p: (naive_distance(p, r), -len(r))) for p, refs in items]
    pairs = [(p, r) for (p, _), r in zip(items, closest, strict=True)]
    n = len(pairs)
    distances = [naive_distance(p, r) for p, r in pairs]
    assert metrics.acc == pytest.approx(100 * sum(p in refs for p, refs in items) / n)
    assert metrics.wer == 100 - metrics.acc
    assert metrics.mld == pytest.approx(sum(distances) / n)
    rates = [d / (len(r) or 1) for d, (_, r) in zip(distances, pairs, strict=True)]
    assert metrics.per == pytest.approx(sum(rates) / n)
    total_length = sum(len(r) for _, r in pairs) or 1
    assert metrics.per_corpus == pytest.approx(sum(distances) / total_length)
    assert metrics.mfs == pytest.approx(sum(naive_f_score(p, r) for p, r in pairs) / n)
    assert all(math.isfinite(value) for value in metrics.to_dict().values())


def test_to_dict_is_json() -> None:
    text = json.dumps(evaluate([("a",)], [[("a",)]]).to_dict())
    assert set(json.loads(text)) == {"n", "acc", "wer", "per", "per_corpus", "mfs", "mld"}


def test_misuse_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing to evaluate"):
        evaluate([], [])
    with pytest.raises(ValueError, match="1 predictions for 2 items"):
        evaluate([("a",)], [[("a",)], [("b",)]])
    with pytest.raises(ValueError, match="at least one reference"):
        evaluate([("a",)], [[]])


def test_intervals_hold_the_figures_and_shrink_with_more_items() -> None:
    items = [score_item("ab", ["ab"]), score_item("ab", ["abc"]), score_item("", ["x"])]
    few, many = intervals(items * 5), intervals(items * 500)
    metrics = summarize(items)
    for name, (low, high) in many.items():
        assert low <= getattr(metrics, name) <= high
        assert few[name][0] <= low < high <= few[name][1]
    low, high = many["acc"]  # 1500 draws with p = 1/3: about 1.96 standard errors each way
    assert high - low == pytest.approx(2 * 1.96 * 100 * (2 / 9 / 1500) ** 0.5, rel=0.15)
    assert intervals(items) == intervals(items)
    assert intervals([score_item("", [""])])["per_corpus"] == (0.0, 0.0)
