from __future__ import annotations

import json

import pytest

from hardalign.data.formats import FORMATS, Example
from hardalign.metrics import LEVEL, Contest, Judged

LAYOUT = FORMATS["lexicon"]
N = 60


def item(k: int) -> Example:
    return Example(("a",) * (k + 1), (("A",) * (k + 1), ("B",)), text="a" * (k + 1))


ITEMS = [item(k) for k in range(N)]


def judged(name: str, right: range) -> Judged:
    said = [one.targets[0] if k in right else ("X",) for k, one in enumerate(ITEMS)]
    return Judged.of(name, said, ITEMS, LAYOUT)


def three() -> Contest:
    return Contest(
        ITEMS,
        [judged("good", range(50)), judged("bad", range(40, 60)), judged("same", range(49))],
    )


def test_accuracy_and_who_is_right_alone() -> None:
    result = three()
    accuracies = [one.metrics.acc for one in result.models]
    assert accuracies == pytest.approx([100 * n / N for n in (50, 20, 49)])
    assert [result.alone(k) for k in range(3)] == [[], list(range(50, 60)), []]
    assert result.agreed == (9, 0)


def test_any_reference_counts() -> None:
    assert Judged.of("m", [("B",)] * N, ITEMS, LAYOUT).correct == [True] * N


def test_every_pair_is_tested_and_chance_is_recognised() -> None:
    tests = three().tests
    assert list(tests) == [("good", "bad"), ("good", "same"), ("bad", "same")]
    (clear, p), (_, chance) = tests["good", "bad"], tests["good", "same"]
    assert clear.difference == pytest.approx(100 * 30 / N)
    assert p < LEVEL
    assert clear.low < clear.difference < clear.high
    # One item differs: the exact sign test gives p = 1.
    assert chance == 1.0
    assert all(corrected >= test.p for test, corrected in tests.values())


def test_models_that_say_the_same() -> None:
    ((test, p),) = Contest(ITEMS, [judged("a", range(5)), judged("b", range(5))]).tests.values()
    assert (test.difference, p) == (0.0, 1.0)


def test_json() -> None:
    content = json.loads(json.dumps(three().to_dict(LAYOUT.join_target)))
    assert content["n"] == N
    assert [model["model"] for model in content["models"]] == ["good", "bad", "same"]
    assert content["alone"]["bad"][0] == {
        "source": "a" * 51,
        "references": [" ".join("A" * 51), "B"],
        "predictions": ["X", " ".join("A" * 51), "X"],
    }
    assert content["comparisons"][0]["significant"] is True
