from __future__ import annotations

import pytest
import torch

from hardalign.data.vocabulary import BEGIN, END
from hardalign.decoding.history import History

SILENT = 9


def numbers(*values: int) -> torch.Tensor:
    return torch.tensor(values)


def test_strings_are_read_off_a_tree():
    history = History(silent=-1)
    looked = torch.eye(4)
    root = history.visit(numbers(-1), numbers(BEGIN), looked[:1])
    children = history.visit(root[[0, 0]], numbers(5, 6), looked[1:3])
    (child,) = history.visit(children[1:], numbers(5), looked[3:]).tolist()
    ends = numbers(0, int(children[0]), child, child)
    scores = torch.tensor([-1.0, -2.0, -3.0, -4.0])
    found = history.hypotheses(ends, numbers(END, END, END, 7), scores)
    assert [h.symbols for h in found] == [[], [5], [6, 5], [6, 5, 7]]
    assert [h.finished for h in found] == [True, True, True, False]
    assert [h.log_prob for h in found] == [-1.0, -2.0, -3.0, -4.0]
    rows = [[0], [0, 1], [0, 2, 3], [0, 2, 3]]
    for hypothesis, expected in zip(found, rows, strict=True):
        assert torch.equal(hypothesis.alignment, looked[expected])


def test_silent_actions_are_no_symbols_and_look_nowhere():
    history = History(SILENT)
    looked = torch.eye(4)
    node = numbers(-1)
    for row, action in enumerate((BEGIN, SILENT, 5, SILENT)):
        node = history.visit(node, numbers(action), looked[row : row + 1])
    (finished,) = history.hypotheses(node, numbers(END), torch.zeros(1))
    assert finished.symbols == [5]
    assert torch.equal(finished.alignment, looked[[1, 3]])  # before 5, before the end


@pytest.mark.parametrize("silent", [-1, SILENT])
def test_nothing_to_read_off(silent: int):
    history = History(silent)
    history.visit(numbers(-1), numbers(BEGIN), torch.ones(1, 3))
    none = torch.zeros(0, dtype=torch.long)
    assert history.hypotheses(none, none, torch.zeros(0)) == []
