from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conftest import random_pair
from hardalign import aligner
from hardalign.actions import aligner_pair, oracle_actions
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, END, UNKNOWN

STEP = 99


@st.composite
def paths(draw: st.DrawFn) -> tuple[aligner.Path, int, int]:
    """A path of substitutions, deletions and insertions; how many letters each side has."""
    path: aligner.Path = []
    j = i = 0
    for deletes, inserts in draw(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=8)):
        if deletes or inserts:
            path.append((j if deletes else None, i if inserts else None))
            j, i = j + deletes, i + inserts
    return path, j, i


@given(paths())
def test_a_pointer_that_acts_so_writes_the_target_where_it_is_aligned(
    drawn: tuple[aligner.Path, int, int],
) -> None:
    path, letters, length = drawn
    target = [10 + k for k in range(length)]
    actions = oracle_actions(path, [*target, END], STEP)
    pointer, written = 0, []
    for action in actions:
        pointer += action == STEP
        if action != STEP:
            written.append((action, pointer))
    assert [symbol for symbol, _ in written] == [*target, END]
    assert written[-1] == (END, letters + 1)  # the end comes at the end symbol
    places = dict(written)
    for j, i in path:
        if i is not None and j is not None:
            assert places[10 + i] == j + 1


def test_a_prefix_is_written_at_the_begin_symbol() -> None:
    path: aligner.Path = [(None, 0), (0, 1), (1, None), (None, 2)]
    actions = oracle_actions(path, [5, 6, 7, END], STEP)
    assert actions == [5, STEP, 6, STEP, 7, STEP, END]
    assert oracle_actions([], [END], STEP) == [STEP, END]


def test_the_aligners_numbers_leave_out_tags_and_count_from_1() -> None:
    pair = Encoded([BEGIN, 8, 9, 4, UNKNOWN, 6, END], 2, [5, UNKNOWN, END])
    assert aligner_pair(pair) == ([1, 0, 3], [2, 0])
    source, target = aligner_pair(random_pair(5, 3, tags=1))
    assert (len(source), len(target)) == (5, 3)
    assert min(source + target) >= 1
