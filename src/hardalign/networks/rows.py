"""Tensors that belong together, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


class Rows:
    """Base of frozen dataclasses whose fields are tensors or ``Rows``, all with rows first."""

    def select(self, rows: Tensor) -> Self:
        """Some rows [N], in the given order; a row may be taken several times."""
        return type(self)(*(_select(value, rows) for value in vars(self).values()))


@dataclass(frozen=True)
class Shared(Rows):
    """A large table that a search only reads: its rows are pointed to instead of copied."""

    table: Tensor
    """[M, ...]"""
    row: Tensor
    """[N] the row of the table that each row is."""

    @classmethod
    def of(cls, table: Tensor) -> Self:
        """All rows of a table."""
        return cls(table, torch.arange(len(table), device=table.device))

    def select(self, rows: Tensor) -> Self:
        """Some rows [N] of the same table."""
        return type(self)(self.table, self.row.index_select(0, rows))


def _select(value: Tensor | Rows, rows: Tensor) -> Tensor | Rows:
    return value.select(rows) if isinstance(value, Rows) else value.index_select(0, rows)
