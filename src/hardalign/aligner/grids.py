"""The grids through which the aligner's paths run, many pairs at a time.

The paths of a pair run through a grid of cells from (0, 0) to (|x|, |y|): cell (j, i) is where j
source and i target symbols are explained. A batch of B grids is an array [cells, B], its cells row
by row; the operation that ends in a cell of row and column above 0 by substitution has its score
in that cell, deletions have theirs in column 0 and insertions in row 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Pair = tuple[Sequence[int], Sequence[int]]
"""The ids of a source string and of a target string; either may be empty."""

BATCH_CELLS = 1 << 15
"""The cells of a batch: enough to hide Python, few enough for caches."""


class Batch(NamedTuple):
    """Holds the grids of some pairs, padded to the longest strings among them."""

    places: list[int]  # of its pairs among all pairs
    rows: int  # J, the length of the longest source
    columns: int  # I, the length of the longest target
    operations: NDArray[np.intp]  # [cells, B] of the flat table, for the score of every cell
    ends: tuple[NDArray[np.intp], NDArray[np.intp]]  # each [B]: the pairs' last cells, 0 … B - 1


class Diagonal(NamedTuple):
    """The inner cells with the same j + i, from which none of them depends on another."""

    here: slice  # (j, i)
    above: slice  # (j - 1, i), from where x_j is deleted
    left: slice  # (j, i - 1), from where y_i is inserted
    corner: slice  # (j - 1, i - 1), from where x_j is substituted
    deletions: slice  # (j, 0), the scores of the deletions
    insertions: slice  # (0, i), the scores of the insertions


def diagonals(rows: int, columns: int) -> Iterator[Diagonal]:
    """Gives the diagonals of a grid in the order in which they can be filled."""
    width = columns + 1
    for diagonal in range(2, rows + columns + 1):
        first, last = max(1, diagonal - columns), min(rows, diagonal - 1)  # of j
        if first > last:
            continue
        start = first * width + diagonal - first
        stop = start + (last - first) * columns + 1
        here, above, left, corner = (
            slice(start - back, stop - back, columns) for back in (0, width, 1, width + 1)
        )
        deletions = slice(first * width, last * width + 1, width)
        insertions = slice(diagonal - first, diagonal - last - 1, -1)
        yield Diagonal(here, above, left, corner, deletions, insertions)


def batches(pairs: Sequence[Pair], shape: tuple[int, ...]) -> Iterator[Batch]:
    """Cuts the pairs into batches of similar lengths, of at most BATCH_CELLS padded cells each."""
    places = sorted(range(len(pairs)), key=lambda k: (len(pairs[k][0]), len(pairs[k][1])))
    starts: list[int] = []
    longest = 0
    for place, (x, y) in enumerate(pairs[k] for k in places):
        longest = max(longest, len(y))
        if not starts or (place + 1 - starts[-1]) * (len(x) + 1) * (longest + 1) > BATCH_CELLS:
            starts.append(place)
            longest = len(y)
    for start, end in pairwise([*starts, len(places)]):
        part = places[start:end]
        source = _padded([pairs[k][0] for k in part], shape[0])  # [J + 1, B]
        target = _padded([pairs[k][1] for k in part], shape[1])  # [I + 1, B]
        operations = source[:, None] * shape[1] + target  # [J + 1, I + 1, B]
        width = len(target)
        ends = np.array([len(pairs[k][0]) * width + len(pairs[k][1]) for k in part])
        grid = operations.reshape(-1, len(part))
        yield Batch(part, len(source) - 1, width - 1, grid, (ends, np.arange(len(part))))


def _padded(strings: list[Sequence[int]], size: int) -> NDArray[np.intp]:
    """Returns rows or columns of the table as an array [L + 1, B], 0 (nothing) first."""
    longest = max(map(len, strings))
    # Any symbol may fill up: what stands after the end of a string is never reached.
    filled = [[*string, *[0] * (longest - len(string))] for string in strings]
    padded = np.array(filled, np.intp) + 1  # [B, L]
    if padded.size and not 0 < padded.min() <= padded.max() < size:
        raise ValueError(f"ids must be from 0 to {size - 2}")
    return np.pad(padded.reshape(len(strings), longest).T, ((1, 0), (0, 0)))
