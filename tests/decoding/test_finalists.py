from __future__ import annotations

import math

import numpy as np
import pytest

from hardalign.data.vocabulary import END
from hardalign.decoding.finalists import Finalists
from hardalign.decoding.grid import Grid


def ended(words: list[int], probabilities: list[list[float]], spelled: list[list[int]]) -> Grid:
    with np.errstate(divide="ignore"):
        scores = np.log(probabilities)
    row = np.arange(scores.size).reshape(scores.shape)
    ends = np.full(scores.shape, END)
    return Grid(np.array(words), scores, row, ends, ends, np.array(spelled))


def probabilities(finalists: Finalists) -> list[list[float]]:
    return [[round(p, 6) for p in row] for row in np.exp(finalists.scores).tolist()]


def test_the_best_are_kept() -> None:
    finalists = Finalists(3, 2, False)
    finalists.add(ended([0, 2], [[0.2, 0.3], [0.1, 0.0]], [[1, 2], [1, 2]]), np.arange(4))
    assert probabilities(finalists) == [[0.3, 0.2], [0.0, 0.0], [0.1, 0.0]]
    finalists.add(ended([0], [[0.25, 0.1]], [[3, 4]]), np.array([10, 11]))
    assert probabilities(finalists)[0] == [0.3, 0.25]
    assert finalists.prefix[0].tolist() == [1, 10]


def test_equal_strings_are_added_up() -> None:
    finalists = Finalists(1, 3, True)
    finalists.add(ended([0], [[0.2, 0.3, 0.1, 0.0]], [[7, 8, 7, 0]]), np.arange(4))
    assert probabilities(finalists) == [[0.3, 0.3, 0.0]]
    finalists.add(ended([0], [[0.05, 0.3, 0.25]], [[8, 0, 7]]), np.arange(10, 13))
    assert probabilities(finalists) == [[0.55, 0.35, 0.3]]
    assert finalists.prefix.tolist() == [[0, 1, 11]]


@pytest.mark.parametrize(
    ("keep", "mass", "expected"),
    [(1, 1.0, 0.4), (3, 1.0, 0.1), (4, 1.0, 0.0), (4, 0.4, 0.4), (4, 0.6, 0.3), (4, 0.75, 0.1)],
)
def test_what_is_to_beat(keep: int, mass: float, expected: float) -> None:
    finalists = Finalists(1, 4, False)
    finalists.add(ended([0], [[0.4, 0.3, 0.1]], [[1, 2, 3]]), np.arange(3))
    word = np.array([0])
    assert math.exp(finalists.to_beat(word, keep, mass).item()) == pytest.approx(expected)
    runner_up = [0.4, 0.3, 0.1, 0.0, 0.0][keep]
    assert math.exp(finalists.runner_up(word, keep).item()) == pytest.approx(runner_up)
