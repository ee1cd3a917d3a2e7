from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from hardalign.aligner import Path, aligner_pair, oracle_actions
from hardalign.data.vocabulary import BEGIN, END, UNKNOWN, Encoded
from helpers import random_pair

STEP = 99


@st.composite
def paths(draw: st.DrawFn) -> Path:
    """Any alignment of any two strings."""
    path: Path = []
    j = i = 0
    for kind in draw(st.lists(st.sampled_from(["substitute", "delete", "insert"]), max_size=12)):
        path.append((None if kind == "insert" else j, None if kind == "delete" else i))
        j, i = j + (kind != "insert"), i + (kind != "delete")
    return path


def follow(actions: list[int]) -> tuple[list[int], list[int]]:
    """What actions write, the end included, and the pointer at each write: the plain loop."""
    written, positions, pointer = [], [], 0
    for action in actions:
        if action == STEP:
            pointer += 1
        else:
            written.append(action)
            positions.append(pointer)
    return written, positions


@given(paths())
def test_actions_write_the_target(path: Path) -> None:
    letters = sum(j is not None for j, _ in path)
    target = [10 + i for _, i in path if i is not None]
    actions = oracle_actions(path, target, STEP)
    written, positions = follow(actions)
    assert written == [*target, END]
    assert positions == sorted(positions)
    assert positions[-1] == letters + 1  # the end is at the end symbol, and no step goes past it
    assert len(actions) == letters + 1 + len(target) + 1
    # Letter j, counted from 0, is at position j + 1; an insertion is where the last letter was.
    reached = accumulate((0 if j is None else j + 1 for j, _ in path), max)
    expected = [place for place, (_, i) in zip(reached, path, strict=True) if i is not None]
    assert positions[:-1] == expected


def test_a_prefix_is_written_before_the_first_step() -> None:
    path: Path = [(None, 0), (0, 1), (1, None), (None, 2), (2, 3)]
    assert oracle_actions(path, [5, 6, 7, 8], STEP) == [5, STEP, 6, STEP, 7, STEP, 8, STEP, END]


def test_nothing_to_nothing() -> None:
    assert oracle_actions([], [], STEP) == [STEP, END]


def test_the_aligners_numbers_leave_out_tags_and_count_from_1() -> None:
    pair = Encoded([BEGIN, 8, 9, 4, UNKNOWN, 6, END], 2, [5, UNKNOWN, END])
    assert aligner_pair(pair) == ([1, 0, 3], [2, 0])
    source, target = aligner_pair(random_pair(5, 3, tags=1))
    assert (len(source), len(target)) == (5, 3)
    assert min(source + target) >= 1
