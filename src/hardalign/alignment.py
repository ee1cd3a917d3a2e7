"""Which source symbol each target symbol came from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hardalign.data.example import Symbols
from hardalign.plot import draw_text

EDGE = 0.1
"""A source and a target symbol are connected where the weight is larger (the paper's threshold)."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """The alignment of one pair of strings.

    What its weights are depends on the system: ``kind`` says whether they are the exact posterior
    p(a_i = j | x, y), mere attention weights, or one path.

    >>> alignment = g2p.align("action", "AE K SH AH N")
    >>> alignment.pairs
    [(0, 0), (1, 1), (2, 2), (4, 3), (5, 4)]
    """

    source: Symbols
    """The source's symbols."""
    target: Symbols
    """The target's symbols."""
    tags: Symbols
    """The tags that stand before the source, if any."""
    weights: NDArray[np.float64]
    """[target symbols, end; begin, tags, source symbols, end] each row sums to 1."""
    kind: str
    """"posterior", "attention" or "path"."""

    @property
    def posterior(self) -> NDArray[np.float64]:
        """[target symbols, source symbols]; what a row lacks of 1 fell on begin, tags or end."""
        return self.weights[: len(self.target), 1 + len(self.tags) : -1]

    @cached_property
    def best(self) -> list[int]:
        """For each target symbol the most probable column of ``weights``."""
        return [int(column) for column in self.weights[: len(self.target)].argmax(1)]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(source index, target index) of the most probable alignment, both from 0.

        A target symbol that comes from begin, end or a tag has no pair.
        """
        first = 1 + len(self.tags)
        return [
            (column - first, row)
            for row, column in enumerate(self.best)
            if 0 <= column - first < len(self.source)
        ]

    @property
    def entropy(self) -> NDArray[np.float64]:
        """[target symbols] uncertainty of each symbol's origin, in nats."""
        weights = self.weights[: len(self.target)]
        logs = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
        return np.asarray(-(weights * logs).sum(1))

    def is_monotonic(self, threshold: float = EDGE) -> bool:
        """Whether no two edges cross; an edge is where the weight exceeds the threshold.

        Edges to begin, end and tags do not count: they are no place in the source string.
        """
        rightmost = -1
        for row in self.posterior > threshold:
            columns = np.flatnonzero(row)
            if len(columns):
                if columns[0] < rightmost:
                    return False
                rightmost = max(rightmost, int(columns[-1]))
        return True

    def __str__(self) -> str:
        """A heat map for the terminal; ``⊢`` and ``⊣`` are begin and end."""
        columns = ("⊢", *self.tags, *self.source, "⊣")
        return draw_text((*self.target, "⊣"), columns, self.weights)
