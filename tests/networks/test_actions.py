from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hardalign.data.vocabulary import BEGIN, END, RESERVED, UNKNOWN, Encoded
from hardalign.networks import actions as module
from hardalign.networks.actions import Oracle, pointers
from hardalign.networks.batch import collate
from helpers import TINY, random_pairs, widened

STEP = 99
LETTERS, SYMBOLS = len(TINY.source.letters), len(TINY.target.letters)


@given(st.lists(st.lists(st.sampled_from([4, 5, STEP]), min_size=5, max_size=5), min_size=1))
def test_pointers_count_the_steps_before(rows: list[list[int]]) -> None:
    expected = [[row[:k].count(STEP) for k in range(len(row))] for row in rows]
    assert pointers(torch.tensor(rows), STEP).tolist() == expected


def fitted(pairs: list[Encoded]) -> Oracle:
    oracle = Oracle(LETTERS, SYMBOLS)
    oracle.fit(pairs)
    return oracle


def strings(oracle: Oracle, rows: torch.Tensor) -> list[list[int]]:
    return [[a for a in row if a not in (oracle.step, 0)] for row in rows.tolist()]


def test_step_is_the_number_after_the_last_symbol() -> None:
    assert Oracle(LETTERS, SYMBOLS).step == len(TINY.target)


@pytest.mark.parametrize("seen", [True, False], ids=["training pairs", "new pairs"])
def test_oracle_actions_reproduce_the_targets(seen: bool) -> None:
    pairs = random_pairs(40)
    oracle = fitted(pairs if seen else random_pairs(40, seed=1))
    actions = oracle(collate(pairs))
    assert strings(oracle, actions) == [pair.target for pair in pairs]
    steps = (actions == oracle.step).sum(1).tolist()
    assert steps == [len(pair.source) - pair.tags - 1 for pair in pairs]


def test_oracle_without_training_pairs() -> None:
    pairs = random_pairs(10)
    oracle = Oracle(LETTERS, SYMBOLS)
    assert strings(oracle, oracle(collate(pairs))) == [pair.target for pair in pairs]


def test_tags_and_padding_change_nothing() -> None:
    pairs = random_pairs(20)
    oracle = fitted(pairs)
    alone = [oracle(collate([pair]))[0].tolist() for pair in pairs]
    oracle = fitted(pairs)
    together = oracle(widened(pairs, 5, seed=0)).tolist()
    for row, expected in zip(together, alone, strict=True):
        assert row == expected + [0] * (len(row) - len(expected))
    bare = [Encoded([BEGIN, *p.source[1 + p.tags :]], 0, p.target) for p in pairs]
    assert oracle(collate(bare)).tolist() == together


def test_unknown_letters_are_aligned() -> None:
    a, b, x, y = RESERVED, RESERVED + 1, RESERVED, RESERVED + 1
    oracle = fitted([Encoded([BEGIN, a, b, END], 0, [x, y, END])] * 5)
    actions = oracle(collate([Encoded([BEGIN, UNKNOWN, b, END], 0, [x, y, END])]))
    assert actions.tolist() == [[oracle.step, x, oracle.step, y, oracle.step, END]]


def test_alignment_is_learned_and_not_always_the_diagonal() -> None:
    """The letter b is silent wherever it stands: only the data tells."""
    a, b, x, z = RESERVED, RESERVED + 1, RESERVED, RESERVED + 2
    c = RESERVED + 2
    words = [([a, c], [x, z]), ([b, a, c], [x, z]), ([a, b, c], [x, z]), ([b, a], [x]), ([c], [z])]
    pairs = [Encoded([BEGIN, *w, END], 0, [*t, END]) for w, t in words]
    oracle = fitted(pairs)
    step = oracle.step
    assert oracle(collate([pairs[1]])).tolist() == [[step, step, x, step, z, step, END]]


def test_fit_is_deterministic() -> None:
    pairs = random_pairs(30)
    assert torch.equal(fitted(pairs).table, fitted(pairs).table)


def test_table_is_finite_and_kept_by_the_state_dict() -> None:
    oracle = fitted(random_pairs(30))
    assert oracle.table.isfinite().all()
    other = Oracle(LETTERS, SYMBOLS)
    assert not torch.equal(other.table, oracle.table)
    other.load_state_dict(oracle.state_dict())
    assert torch.equal(other.table, oracle.table)


def test_a_loaded_table_replaces_what_is_remembered() -> None:
    pairs = random_pairs(60)
    before, after = Oracle(LETTERS, SYMBOLS), fitted(pairs)
    batch = collate(pairs)
    assert not torch.equal(before(batch), after(batch))
    before.load_state_dict(after.state_dict())
    assert torch.equal(before(batch), after(batch))


def test_pairs_are_aligned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = random_pairs(20)
    oracle = fitted(pairs)
    fresh = copy.deepcopy(oracle)
    fresh.load_state_dict(oracle.state_dict())
    asked = []
    align = module.align_actions

    def counted(table: NDArray[Any], new: list[Encoded], step: int) -> list[list[int]]:
        asked.append(len(new))
        return align(table, new, step)

    monkeypatch.setattr(module, "align_actions", counted)
    first, second = fresh(collate(pairs + pairs)), fresh(collate(pairs))
    known = oracle(collate(pairs))
    distinct = len({(tuple(p.source[1 + p.tags :]), tuple(p.target)) for p in pairs})
    assert asked == [distinct, 0, 0]
    assert torch.equal(first[: len(pairs)], second)
    assert torch.equal(second, known)


def test_memory_of_alignments_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHED_PAIRS", 10)
    pairs = random_pairs(60)
    oracle = fitted(pairs)
    for start in range(0, 60, 5):
        part = pairs[start : start + 5]
        assert strings(oracle, oracle(collate(part))) == [pair.target for pair in part]
        assert len(oracle._cache) <= 10 + 5


def test_a_thread_that_forgets_does_not_disturb_another(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = random_pairs(20)
    oracle = fitted(pairs)
    expected = oracle(collate(pairs))
    align = module.align_actions

    def interrupted(table: NDArray[Any], new: list[Encoded], step: int) -> list[list[int]]:
        """Align after another call, as of another thread, has found the memory full."""
        monkeypatch.setattr(module, "align_actions", align)
        monkeypatch.setattr(module, "CACHED_PAIRS", 0)
        oracle(collate(pairs[:3]))
        return align(table, new, step)

    monkeypatch.setattr(module, "align_actions", interrupted)
    assert torch.equal(oracle(collate(pairs)), expected)
    assert module.CACHED_PAIRS == 0
