from __future__ import annotations

import numpy as np
import pytest

from hardalign.data.vocabulary import BEGIN, END
from hardalign.decoding.history import History
from hardalign.runtime.numbers import Ints

SILENT = 9


def numbers(*values: int) -> Ints:
    return np.array(values)


def test_strings_are_read_off_a_tree() -> None:
    history = History(silent=-1)
    looked = np.eye(4)
    root = history.visit(numbers(-1), numbers(BEGIN), looked[:1])
    children = history.visit(root[[0, 0]], numbers(5, 6), looked[1:3])
    (child,) = history.visit(children[1:], numbers(5), looked[3:]).tolist()
    ends = numbers(0, int(children[0]), child, child)
    scores = np.array([-1.0, -2.0, -3.0, -4.0])
    found = history.hypotheses(ends, numbers(END, END, END, 7), scores)
    assert [h.symbols for h in found] == [[], [5], [6, 5], [6, 5, 7]]
    assert [h.finished for h in found] == [True, True, True, False]
    assert [h.log_prob for h in found] == [-1.0, -2.0, -3.0, -4.0]
    rows = [[0], [0, 1], [0, 2, 3], [0, 2, 3]]
    for hypothesis, expected in zip(found, rows, strict=True):
        assert (hypothesis.alpha == looked[expected]).all()


def test_silent_actions_are_no_symbols_and_look_nowhere() -> None:
    history = History(SILENT)
    looked = np.eye(4)
    node = numbers(-1)
    for row, action in enumerate((BEGIN, SILENT, 5, SILENT)):
        node = history.visit(node, numbers(action), looked[row : row + 1])
    (finished,) = history.hypotheses(node, numbers(END), np.zeros(1))
    assert finished.symbols == [5]
    assert (finished.alpha == looked[[1, 3]]).all()  # before 5, before the end


@pytest.mark.parametrize("silent", [-1, SILENT])
def test_nothing_to_read_off(silent: int) -> None:
    history = History(silent)
    history.visit(numbers(-1), numbers(BEGIN), np.ones((1, 3)))
    none = np.zeros(0, np.intp)
    assert history.hypotheses(none, none, np.zeros(0)) == []
