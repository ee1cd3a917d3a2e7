from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hardalign.data.vocabulary import END
from hardalign.decoding.grid import Grid, best_columns
from hardalign.runtime.numbers import Floats

SILENT = END + 3


def step(grid: Grid, log_probs: Floats, count: int = 8) -> Grid:
    return grid.continued(log_probs, count, SILENT)


def test_the_best_continuations_come_first() -> None:
    log_probs = np.array([[-1.0, -3.0, -2.0, -4.0], [-2.0, -1.0, -np.inf, -1.0]])
    grid = step(Grid.start(2), log_probs)
    assert grid.scores.tolist() == [[-1.0, -2.0, -3.0, -4.0], [-1.0, -1.0, -2.0, -np.inf]]
    assert (grid.action - END).tolist() == [[0, 2, 1, 3], [1, 3, 0, 2]]
    assert grid.row.tolist() == [[0] * 4, [1] * 4]
    assert grid.written.tolist() == [[1, 1, 1, 0], [1, 0, 1, 1]]


def test_compacting_numbers_the_rows_of_the_next_state() -> None:
    grid = step(Grid.start(3), np.zeros((3, 4)))
    mask = np.array([[True, False, True, False], [False] * 4, [False, True, True, True]])
    grid, row, action = grid.where(mask).compacted()
    assert grid.word.tolist() == [0, 2]
    assert row.tolist() == [0, 0, 2, 2, 2]
    assert (action - END).tolist() == [0, 2, 1, 2, 3]
    alive = grid.scores > -np.inf
    assert grid.row[alive].tolist() == [0, 1, 2, 3, 4]
    nothing, row, action = grid.where(np.zeros_like(alive)).compacted()
    assert (len(nothing.word), len(row), len(action)) == (0, 0, 0)


@given(st.data(), st.integers(1, 60), st.integers(1, 20))
def test_the_best_columns_are_those_of_a_stable_sort(
    data: st.DataObject, columns: int, count: int
) -> None:
    """Of few columns and of many, with ties and with nothing at all in some."""
    values = st.sampled_from([-np.inf, -3.0, -2.0, -1.0, 0.0])
    scores = np.array([data.draw(st.lists(values, min_size=columns, max_size=columns))])
    expected = sorted(range(columns), key=lambda k: (-scores[0, k], k))[:count]
    found = best_columns(scores, count)[0].tolist()
    alive = [k for k in expected if scores[0, k] > -np.inf]
    assert found[: len(alive)] == alive
    assert len(found) == len(expected)


def spelled(actions: list[int]) -> int:
    grid = Grid.start(1)
    for action in actions:
        grid = step(grid, np.zeros((1, 4))).columns(np.array([[action]]))
        grid = replace(grid, row=np.zeros_like(grid.row))
    return int(grid.spelled[0, 0])


@given(st.lists(st.integers(1, 3), max_size=9), st.lists(st.integers(1, 3), max_size=9))
def test_equal_strings_and_no_others_have_equal_hashes(one: list[int], other: list[int]) -> None:
    same = [a for a in one if a != 3] == [a for a in other if a != 3]
    assert (spelled(one) == spelled(other)) == same
