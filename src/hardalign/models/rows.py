"""Tensors that belong together, row by row."""

from __future__ import annotations

from typing import Self

from torch import Tensor


class Rows:
    """Base of frozen dataclasses whose fields are tensors or ``Rows``, all with rows first."""

    def select(self, rows: Tensor) -> Self:
        """Some rows [N], in the given order; a row may be taken several times."""
        return type(self)(*(_select(value, rows) for value in vars(self).values()))


def _select(value: Tensor | Rows, rows: Tensor) -> Tensor | Rows:
    return value.select(rows) if isinstance(value, Rows) else value.index_select(0, rows)
