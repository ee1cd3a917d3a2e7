"""An unsupervised aligner: which source symbol goes with which target symbol.

A pair of strings is explained by a monotone sequence of operations, each drawn independently
from one multinomial θ: *substitute* x_j by y_i, *delete* x_j, or *insert* y_i. θ is learned by
EM from the pairs alone; the best sequence of a pair is its alignment.

Strings are sequences of ids from 0. θ is a table of log-probabilities [S + 1, T + 1] whose row
and column 0 stand for nothing and whose other rows and columns for the ids: ``table[x + 1, y + 1]``
substitutes, ``table[x + 1, 0]`` deletes, ``table[0, y + 1]`` inserts, and ``table[0, 0]``, which
would do nothing, is -inf and never read. A pair costs |x|·|y| time and memory.

>>> pairs = [([0, 1, 1], [0, 1]), ([1, 0], [1, 0])]  # as "abb" → "ab", "ba" → "ba"
>>> align(fit(pairs, 2, 2), pairs)[0]
[(0, 0), (1, 1), (2, None)]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardalign.alignment import Links
from hardalign.data.formats import Example
from hardalign.data.vocabulary import END, Encoded, Vocabulary

Pair = tuple[Sequence[int], Sequence[int]]
"""The ids of a source string and of a target string; either may be empty."""
Path = list[tuple[int | None, int | None]]
"""(j, i) substitutes, (j, None) deletes, (None, i) inserts; positions count from 0."""
Floats = NDArray[np.float64]
BATCH_CELLS = 1 << 15
"""The cells of a batch: enough to hide Python, few enough for caches."""
BLOCK = 4096
"""Pairs of a stream aligned at a time."""
_INTEGERS = 2.0**30  # best paths are sought on log-probabilities in multiples of its inverse
_DELETE, _INSERT, _SUBSTITUTE = range(3)


class GridBatch(NamedTuple):
    """The grids of some pairs, padded to the longest strings among them."""

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
    """Yield the diagonals of a grid in the order in which they can be filled."""
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


def batches(pairs: Sequence[Pair], shape: tuple[int, ...]) -> Iterator[GridBatch]:
    """Cut the pairs into batches of similar lengths, of at most BATCH_CELLS padded cells each."""
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
        yield GridBatch(part, len(source) - 1, width - 1, grid, (ends, np.arange(len(part))))


def _padded(strings: list[Sequence[int]], size: int) -> NDArray[np.intp]:
    """Return rows or columns of the table as an array [L + 1, B], 0 (nothing) first."""
    longest = max(map(len, strings))
    # Any symbol may fill up: what stands after the end of a string is never reached.
    filled = [[*string, *[0] * (longest - len(string))] for string in strings]
    padded = np.array(filled, np.intp) + 1  # [B, L]
    if padded.size and not 0 < padded.min() <= padded.max() < size:
        raise ValueError(f"ids must be from 0 to {size - 2}")
    return np.pad(padded.reshape(len(strings), longest).T, ((1, 0), (0, 0)))


def fit(
    pairs: Sequence[Pair],
    source_size: int,
    target_size: int,
    *,
    iterations: int = 8,
    smoothing: float = 0.1,
) -> Floats:
    """Learn θ, [source_size + 1, target_size + 1], by EM; no randomness is involved.

    ``smoothing`` is the pseudo-count of every operation: what never occurs aligns all the same.
    """
    if smoothing <= 0:
        raise ValueError(f"smoothing must be above 0, not {smoothing}")
    shape = (source_size + 1, target_size + 1)
    # Large alphabets have millions of operations, of which few can occur in any pair. The others
    # share one weight, and have no place in the arrays that every step goes through.
    usable = np.zeros(shape[0] * shape[1], bool)
    for batch in batches(pairs, shape):
        usable[batch.operations] = True
    usable[0] = True  # to do nothing, which has weight 0, is first
    places = usable.cumsum(dtype=np.int32) - 1  # of the operations that can occur among those alone
    others = usable.size - int(places[-1]) - 1
    # A uniform start favours pairing: a substitution is one factor, a deletion and insertion two.
    weights, other_weight = np.ones(places[-1] + 1), 1.0
    for _ in range(iterations):
        scores, _ = _normalised(weights, other_weight, others)
        weights, other_weight = np.full_like(weights, smoothing), smoothing
        for batch in batches(pairs, shape):
            operations = places[batch.operations]  # [cells, B]
            counts = _expected_counts(scores[operations], batch)
            weights += np.bincount(operations.ravel(), counts.ravel(), weights.size)
    scores, other_score = _normalised(weights, other_weight, others)
    table = np.full(shape, other_score)
    table.ravel()[usable] = scores
    return table


def align(table: ArrayLike, pairs: Sequence[Pair]) -> list[Path]:
    """Return the most probable path of each pair.

    Of equally probable paths, this is the one whose symbols are paired earliest: of two letters
    that may both stand for a sound, the first does and the second is deleted. Where deletions and
    insertions meet, the deletions come first.
    """
    table = np.asarray(table)
    paths: list[Path] = [[]] * len(pairs)
    for batch in batches(pairs, table.shape):
        # Sums of integers below 2^53 are exact in any order, so that ties are ties, not rounding.
        scores = np.rint(table.ravel()[batch.operations].astype(np.float64) * _INTEGERS)
        maxima = _borders(scores, batch)  # [cells, B], the score of the best path to every cell
        for cells in diagonals(batch.rows, batch.columns):
            maxima[cells.here] = _ways(maxima, scores, cells).max(axis=0)
        # Walking cell by cell is no work for arrays, so to plain lists.
        columns = (array.T.tolist() for array in (maxima, scores))
        for place, best, score in zip(batch.places, *columns, strict=True):
            x, y = pairs[place]
            paths[place] = _trace(best, score, len(x), len(y), batch.columns + 1)
    return paths


def _trace(best: list[float], scores: list[float], j: int, i: int, width: int) -> Path:
    """Walk from cell (j, i) of the best scores back to (0, 0)."""
    path: Path = []
    while j or i:
        cell = j * width + i
        if i and best[cell] == best[cell - 1] + scores[i]:
            i -= 1
            path.append((None, i))
        elif j and best[cell] == best[cell - width] + scores[j * width]:
            j -= 1
            path.append((j, None))
        else:
            j, i = j - 1, i - 1
            path.append((j, i))
    path.reverse()
    return path


def _normalised(weights: Floats, other_weight: float, others: int) -> tuple[Floats, float]:
    """Turn weights into log-probabilities, the M step: of nothing, of what can occur, of others."""
    weights[0] = 0
    total = weights.sum() + other_weight * others or 1.0  # of empty alphabets
    with np.errstate(divide="ignore"):
        return np.log(weights / total), math.log(other_weight / total)


def _expected_counts(scores: Floats, batch: GridBatch) -> Floats:
    """Return the expected uses [J + 1, I + 1, B] of the operations over all paths, the E step."""
    _, shares = _sums(scores, batch)
    # One path of each pair flows back from its last cell, dividing at every cell.
    flow = np.zeros_like(shares[0])  # [cells, B] posterior probability of a path through the cell
    flow[batch.ends] = 1
    for cells in reversed(list(diagonals(batch.rows, batch.columns))):
        for way, before in enumerate((cells.above, cells.left, cells.corner)):
            flow[before] += flow[cells.here] * shares[way, cells.here]
    grid = (batch.rows + 1, batch.columns + 1, -1)
    flow = flow.reshape(grid)
    flow[:, 0] = flow[::-1, 0].cumsum(0)[::-1]
    flow[0, 1:] = flow[0, :0:-1].cumsum(0)[::-1]
    shares = shares.reshape(3, *grid)
    counts = flow * shares[_SUBSTITUTE]  # [J + 1, I + 1, B]
    counts[:, 0] = np.einsum("jib,jib->jb", flow, shares[_DELETE])
    counts[0] = np.einsum("jib,jib->ib", flow, shares[_INSERT])
    counts[0, 0] = 0
    return np.asarray(counts, np.float64)


def _sums(scores: Floats, batch: GridBatch) -> tuple[Floats, Floats]:
    """Sum over all paths to every cell: log-sums [cells, B], and the shares [3, cells, B] in them.

    The shares are those of deletion, insertion and substitution. No cell depends on later ones, so
    padding needs no mask.
    """
    total = _borders(scores, batch)
    shares = np.zeros((3, *scores.shape))
    shares[_DELETE, :: batch.columns + 1] = 1
    shares[_INSERT, : batch.columns + 1] = 1
    for cells in diagonals(batch.rows, batch.columns):
        ways = _ways(total, scores, cells)
        top = ways.max(axis=0)
        ways -= top
        np.exp(ways, out=ways)
        sums = ways.sum(axis=0)
        total[cells.here] = np.log(sums) + top
        shares[:, cells.here] = ways / sums
    return total, shares


def _ways(values: Floats, scores: Floats, cells: Diagonal) -> Floats:
    """Score the three ways into the cells of a diagonal: [3, cells, B]."""
    deleted = values[cells.above] + scores[cells.deletions]
    inserted = values[cells.left] + scores[cells.insertions]
    return np.stack([deleted, inserted, values[cells.corner] + scores[cells.here]])


def _borders(scores: Floats, batch: GridBatch) -> Floats:
    """Fill the cells that one path alone leads to, by deletions or by insertions: [cells, B]."""
    values = np.zeros_like(scores)
    width = batch.columns + 1
    values[width::width] = scores[width::width].cumsum(0)
    values[1:width] = scores[1:width].cumsum(0)
    return values


def align_actions(table: ArrayLike, pairs: Sequence[Encoded], step: int) -> list[list[int]]:
    """Return the actions of each pair's best alignment by an aligner's table."""
    paths = align(table, [aligner_pair(pair) for pair in pairs])
    return [oracle_actions(path, p.target, step) for path, p in zip(paths, pairs, strict=True)]


def oracle_actions(path: Path, target: Sequence[int], step: int) -> list[int]:
    """Return an alignment of the letters of both sides as actions, END the last.

    The pointer steps onto each letter in turn. What is aligned to the letter is written there, a
    deleted letter writes nothing, and an insertion is written wherever the pointer is: what stands
    before all letters, such as a prefix, at the begin symbol, where nothing else is ever written,
    so that a prefix and the first letter are never rivals for the same step. The end comes at the
    end symbol only: the decision to stop is made where the word is seen to be over, and every pair
    has as many STEPs as source positions to step to.
    """
    actions: list[int] = []
    for j, i in path:
        if j is not None:
            actions.append(step)
        if i is not None:
            actions.append(target[i])
    return [*actions, step, END]


def aligner_pair(pair: Encoded) -> Pair:
    """Return a pair's letters in the aligner's numbers: 0 is unknown, others count from 1."""
    return aligner_ids(pair.source[1 + pair.tags : -1]), aligner_ids(pair.target[:-1])


def aligner_ids(letters: Sequence[int]) -> list[int]:
    """Return letters of a vocabulary in the aligner's numbers."""
    return [max(0, number - END) for number in letters]


class UnsupervisedAligner:
    """Aligns symbol by symbol, from left to right, without crossing.

    Each source symbol goes with one target symbol or none, each target symbol comes from one
    source symbol or from nothing; tags are left out. The same pairs always give the same aligner.

    >>> pairs = list(training_pairs(read_examples("lexicon.tsv", FORMATS["lexicon"], "training")))
    >>> links = next(UnsupervisedAligner(pairs).align(pairs))
    """

    def __init__(self, pairs: Sequence[Example]) -> None:
        self._vocabulary = Vocabulary.of(pairs)
        source, target = self._vocabulary.source.letters, self._vocabulary.target.letters
        ids = [self._pair_ids(pair) for pair in pairs]
        self._table = fit(ids, 1 + len(source), 1 + len(target))

    def align(self, pairs: Iterable[Example]) -> Iterator[Links]:
        """Yield the best alignment of each pair, also of pairs that were not learned from."""
        stream = iter(pairs)
        while block := list(islice(stream, BLOCK)):
            paths = align(self._table, [self._pair_ids(pair) for pair in block])
            for pair, path in zip(block, paths, strict=True):
                first = 1 + len(pair.tags)
                columns = [None if j is None else first + j for j, i in path if i is not None]
                yield Links(pair.source, pair.tags, pair.targets[0], columns)

    def _pair_ids(self, pair: Example) -> Pair:
        source = self._vocabulary.source.encode(pair.source)
        target = self._vocabulary.target.encode(pair.targets[0])
        return aligner_ids(source), aligner_ids(target)
