from __future__ import annotations

import math

import pytest
import torch

from hardalign.data.vocabulary import END
from hardalign.decoding.finalists import Finalists
from hardalign.decoding.grid import Grid

CPU = torch.device("cpu")


def found(words: list[int], probabilities: list[list[float]], spelled: list[list[int]]) -> Grid:
    scores = torch.tensor(probabilities, dtype=torch.float64).log()
    row = torch.arange(scores.numel()).view_as(scores)
    ends = torch.full_like(row, END)
    return Grid(torch.tensor(words), scores, row, ends, ends, torch.tensor(spelled))


def probabilities(finalists: Finalists) -> list[list[float]]:
    return [[round(p, 6) for p in row] for row in finalists.scores.exp().tolist()]


def test_the_best_are_kept():
    finalists = Finalists(3, 2, False, CPU)
    finalists.add(found([0, 2], [[0.2, 0.3], [0.1, 0.0]], [[1, 2], [1, 2]]), torch.arange(4))
    assert probabilities(finalists) == [[0.3, 0.2], [0.0, 0.0], [0.1, 0.0]]
    finalists.add(found([0], [[0.25, 0.1]], [[3, 4]]), torch.tensor([10, 11]))
    assert probabilities(finalists)[0] == [0.3, 0.25]
    assert finalists.prefix[0].tolist() == [1, 10]


def test_equal_strings_are_added_up():
    finalists = Finalists(1, 3, True, CPU)
    finalists.add(found([0], [[0.2, 0.3, 0.1, 0.0]], [[7, 8, 7, 0]]), torch.arange(4))
    assert probabilities(finalists) == [[0.3, 0.3, 0.0]]
    finalists.add(found([0], [[0.05, 0.3, 0.25]], [[8, 0, 7]]), torch.arange(10, 13))
    assert probabilities(finalists) == [[0.55, 0.35, 0.3]]
    assert finalists.prefix.tolist() == [[0, 1, 11]]


@pytest.mark.parametrize(
    ("keep", "mass", "expected"),
    [(1, 1.0, 0.4), (3, 1.0, 0.1), (4, 1.0, 0.0), (4, 0.4, 0.4), (4, 0.6, 0.3), (4, 0.75, 0.1)],
)
def test_what_is_to_beat(keep: int, mass: float, expected: float):
    finalists = Finalists(1, 4, False, CPU)
    finalists.add(found([0], [[0.4, 0.3, 0.1]], [[1, 2, 3]]), torch.arange(3))
    word = torch.tensor([0])
    assert math.exp(finalists.to_beat(word, keep, mass).item()) == pytest.approx(expected)
    runner_up = [0.4, 0.3, 0.1, 0.0, 0.0][keep]
    assert math.exp(finalists.runner_up(word, keep).item()) == pytest.approx(runner_up)
