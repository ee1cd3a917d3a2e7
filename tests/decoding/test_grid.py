from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from hardalign.data.vocabulary import END
from hardalign.decoding.grid import Grid

CPU = torch.device("cpu")
SILENT = END + 3


def step(grid: Grid, log_probs: torch.Tensor, count: int = 8) -> Grid:
    return grid.continued(log_probs, count, SILENT)


def test_the_best_continuations_come_first():
    log_probs = torch.tensor([[-1.0, -3.0, -2.0, -4.0], [-2.0, -1.0, -torch.inf, -1.0]])
    grid = step(Grid.start(2, CPU), log_probs)
    assert grid.scores.tolist() == [[-1.0, -2.0, -3.0, -4.0], [-1.0, -1.0, -2.0, -torch.inf]]
    assert (grid.action - END).tolist() == [[0, 2, 1, 3], [1, 3, 0, 2]]
    assert grid.row.tolist() == [[0] * 4, [1] * 4]
    assert grid.written.tolist() == [[1, 1, 1, 0], [1, 0, 1, 1]]


def test_compacting_numbers_the_rows_of_the_next_state():
    grid = step(Grid.start(3, CPU), torch.zeros(3, 4))
    mask = torch.tensor([[True, False, True, False], [False] * 4, [False, True, True, True]])
    grid, row, action = grid.where(mask).compacted()
    assert grid.word.tolist() == [0, 2]
    assert row.tolist() == [0, 0, 2, 2, 2]
    assert (action - END).tolist() == [0, 2, 1, 2, 3]
    alive = grid.scores > -torch.inf
    assert grid.row[alive].tolist() == [0, 1, 2, 3, 4]
    nothing, row, action = grid.where(torch.zeros_like(alive)).compacted()
    assert (len(nothing.word), len(row), len(action)) == (0, 0, 0)


def spelled(actions: list[int]) -> int:
    grid = Grid.start(1, CPU)
    for action in actions:
        grid = step(grid, torch.zeros(1, 4))
        grid = grid.columns(torch.tensor([[action]]))
        grid = Grid(*(vars(grid) | {"row": torch.zeros_like(grid.row)}).values())
    return int(grid.spelled)


@given(st.lists(st.integers(1, 3), max_size=9), st.lists(st.integers(1, 3), max_size=9))
def test_equal_strings_and_no_others_have_equal_hashes(one: list[int], other: list[int]):
    same = [a for a in one if a != 3] == [a for a in other if a != 3]
    assert (spelled(one) == spelled(other)) == same
