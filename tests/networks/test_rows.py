from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hardalign.networks.rows import Rows, Shared


@dataclass(frozen=True)
class Inner(Rows):
    values: Tensor


@dataclass(frozen=True)
class Outer(Rows):
    names: Tensor
    inner: Inner


def test_rows_are_taken_from_every_field_however_deep():
    rows = Outer(torch.arange(4), Inner(torch.arange(8).view(4, 2)))
    chosen = rows.select(torch.tensor([3, 1, 3]))
    assert isinstance(chosen, Outer)
    assert isinstance(chosen.inner, Inner)
    assert chosen.names.tolist() == [3, 1, 3]
    assert chosen.inner.values.tolist() == [[6, 7], [2, 3], [6, 7]]


def test_no_rows():
    chosen = Outer(torch.arange(4), Inner(torch.zeros(4, 2))).select(torch.tensor([]).long())
    assert chosen.names.shape == (0,)
    assert chosen.inner.values.shape == (0, 2)


def test_a_shared_table_is_pointed_to_and_never_copied():
    table = torch.arange(8).view(4, 2)
    shared = Shared.of(table).select(torch.tensor([3, 1, 3])).select(torch.tensor([1, 0]))
    assert shared.table is table
    assert table[shared.row].tolist() == [[2, 3], [6, 7]]
