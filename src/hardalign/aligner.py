"""An unsupervised aligner: which source symbol goes with which target symbol.

A pair of strings is explained by a monotone sequence of operations, each drawn independently
from one multinomial θ: *substitute* x_j by y_i, *delete* x_j, or *insert* y_i. θ is learned by
EM from the pairs alone; the best sequence of a pair is its alignment.

Strings are sequences of ids from 0. θ is a table of log-probabilities [S + 1, T + 1], in which row
and column 0 stand for the empty symbol and the others for the ids: ``table[x + 1, y + 1]``
substitutes, ``table[x + 1, 0]`` deletes, ``table[0, y + 1]`` inserts, and ``table[0, 0]``, which
would do nothing, is -inf and never read. A pair takes |x|·|y| time and memory.

>>> pairs = [([0, 1, 1], [0, 1]), ([1, 0], [1, 0])]  # as "abb" → "ab", "ba" → "ba"
>>> align(fit(pairs, 2, 2), pairs)[0]
[(0, 0), (1, 1), (2, None)]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

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
Ints = NDArray[np.intp]
BATCH_CELLS = 1 << 15
"""Grid cells in a batch: enough to hide Python's overhead, few enough for caches."""
BLOCK = 4096
"""Pairs of a stream aligned at a time."""
FIXED_POINT = 2.0**30
"""Scale of Viterbi scores, which are rounded to integers."""


def batches(pairs: Sequence[Pair], shape: tuple[int, ...]) -> Iterator[tuple[list[int], Ints]]:
    """Group pairs of equal lengths into batches of at most BATCH_CELLS cells where possible.

    Yields:
        The indices of the pairs, and their grids [J + 1, I + 1, B] of indices into the flat table:
        substitutions at (j, i), deletions at (j, 0), insertions at (0, i).
    """

    def lengths(index: int) -> tuple[int, int]:
        return len(pairs[index][0]), len(pairs[index][1])

    for (rows, columns), same in groupby(sorted(range(len(pairs)), key=lengths), lengths):
        size = max(1, BATCH_CELLS // ((rows + 1) * (columns + 1)))
        while part := list(islice(same, size)):
            source = _ids([pairs[k][0] for k in part], shape[0])  # [J + 1, B]
            target = _ids([pairs[k][1] for k in part], shape[1])  # [I + 1, B]
            yield part, source[:, None] * shape[1] + target


def _ids(strings: list[Sequence[int]], size: int) -> Ints:
    """Return rows or columns of the table as an array [L + 1, B], 0 (the empty symbol) first."""
    ids = np.array(strings, np.intp).T + 1
    if ids.size and not 0 < ids.min() <= ids.max() < size:
        raise ValueError(f"ids must be from 0 to {size - 2}")
    return np.pad(ids, ((1, 0), (0, 0)))


def fit(
    pairs: Sequence[Pair],
    source_size: int,
    target_size: int,
    *,
    iterations: int = 8,
    smoothing: float = 0.1,
) -> Floats:
    """Learn θ, [source_size + 1, target_size + 1], by EM; no randomness is involved.

    ``smoothing`` is the pseudo-count of every operation, so that unseen ones can still align.
    """
    if smoothing <= 0:
        raise ValueError(f"smoothing must be above 0, not {smoothing}")
    shape = (source_size + 1, target_size + 1)
    # Of the millions of operations of large alphabets, few can occur in any pair. The others share
    # one weight, and are left out of the arrays that every iteration goes through.
    usable = np.zeros(shape[0] * shape[1], bool)
    for _, operations in batches(pairs, shape):
        usable[operations] = True
    usable[0] = True  # the empty operation, of weight 0, comes first
    places = usable.cumsum(dtype=np.int32) - 1  # indices among the usable operations
    others = usable.size - int(places[-1]) - 1
    # A uniform start favours pairing: a substitution is one factor, deletion plus insertion two.
    weights, other_weight = np.ones(places[-1] + 1), 1.0
    for _ in range(iterations):
        scores, _ = _normalised(weights, other_weight, others)
        weights, other_weight = np.full_like(weights, smoothing), smoothing
        for _, operations in batches(pairs, shape):
            used = places[operations]
            counts = _expected_counts(scores[used])
            weights += np.bincount(used.ravel(), counts.ravel(), weights.size)
    scores, other_score = _normalised(weights, other_weight, others)
    table = np.full(shape, other_score)
    table.ravel()[usable] = scores
    return table


def align(table: ArrayLike, pairs: Sequence[Pair]) -> list[Path]:
    """Return the most probable path of each pair.

    Ties go to the path that pairs symbols earliest: if either of two letters could stand for a
    sound, the first does and the second is deleted. Deletions come before adjacent insertions.
    """
    table = np.asarray(table)
    paths: list[Path] = [[]] * len(pairs)
    for places, operations in batches(pairs, table.shape):
        # Sums of integers below 2^53 are exact in any order, so rounding does not break ties.
        scores = np.rint(table.ravel()[operations].astype(np.float64) * FIXED_POINT)
        maxima = totals(scores, np.maximum)
        # Plain lists are faster than arrays to walk cell by cell.
        grids = (grid.reshape(-1, len(places)).T.tolist() for grid in (maxima, scores))
        for place, largest, own in zip(places, *grids, strict=True):
            x, y = pairs[place]
            paths[place] = _trace(largest, own, len(x), len(y))
    return paths


def _trace(best: list[float], scores: list[float], j: int, i: int) -> Path:
    """Walk from the last cell (j, i) of the best scores back to (0, 0)."""
    path: Path = []
    width = i + 1
    while j or i:
        cell = j * width + i
        if j == 0 or (i and best[cell] == best[cell - 1] + scores[i]):
            i -= 1
            path.append((None, i))
        elif i == 0 or best[cell] == best[cell - width] + scores[j * width]:
            j -= 1
            path.append((j, None))
        else:
            j, i = j - 1, i - 1
            path.append((j, i))
    path.reverse()
    return path


def _normalised(weights: Floats, other_weight: float, others: int) -> tuple[Floats, float]:
    """Return log-probabilities of the usable operations and of any other one: the M step."""
    weights[0] = 0
    total = weights.sum() + other_weight * others or 1.0  # if both alphabets are empty
    with np.errstate(divide="ignore"):
        return np.log(weights / total), math.log(other_weight / total)


def _expected_counts(scores: Floats) -> Floats:
    """Return the expected counts [J + 1, I + 1, B] of the operations over all paths: the E step."""
    before = totals(scores, np.logaddexp)
    after = totals(np.roll(scores[::-1, ::-1], 1, (0, 1)), np.logaddexp)[::-1, ::-1]
    after = after - before[-1, -1]  # normalised by the sum over all paths
    counts = np.zeros_like(scores)
    counts[1:, 1:] = np.exp(before[:-1, :-1] + scores[1:, 1:] + after[1:, 1:])
    counts[1:, 0] = np.exp(before[:-1] + scores[1:, :1] + after[1:]).sum(1)
    counts[0, 1:] = np.exp(before[:, :-1] + scores[0, 1:] + after[:, 1:]).sum(0)
    return counts


def totals(scores: Floats, add: np.ufunc) -> Floats:
    """Combine the scores of all paths to each cell of grids [J + 1, I + 1, B].

    ``add`` is ``np.logaddexp`` for the forward algorithm, ``np.maximum`` for Viterbi.
    """
    grid = np.zeros_like(scores)
    insertions = grid[0]
    insertions[1:] = scores[0, 1:].cumsum(0)
    for j in range(1, len(scores)):
        row = grid[j - 1] + scores[j, 0]  # x_j is deleted
        row[1:] = add(row[1:], grid[j - 1, :-1] + scores[j, 1:])  # or substituted
        grid[j] = add.accumulate(row - insertions) + insertions
    return grid


def align_actions(table: ArrayLike, pairs: Sequence[Encoded], step: int) -> list[list[int]]:
    """Return the pointer actions of each pair's best alignment, given an aligner's table."""
    paths = align(table, [aligner_pair(pair) for pair in pairs])
    return [oracle_actions(path, p.target, step) for path, p in zip(paths, pairs, strict=True)]


def oracle_actions(path: Path, target: Sequence[int], step: int) -> list[int]:
    """Convert an alignment of letters to pointer actions, ending with END.

    The pointer steps onto each letter in turn and writes the symbol aligned with it, if any.
    Insertions are written wherever the pointer is; those before the first letter, such as a prefix,
    at the begin symbol, where nothing else is ever written, so that they never compete with the
    first letter for the same step. END is written only at the end symbol: the model decides to stop
    where it sees that the word is over, and all pairs have a STEP per source position to step to.
    """
    actions: list[int] = []
    for j, i in path:
        if j is not None:
            actions.append(step)
        if i is not None:
            actions.append(target[i])
    return [*actions, step, END]


def aligner_pair(pair: Encoded) -> Pair:
    """Return a pair's letters as aligner ids: 0 is unknown, the others count from 1."""
    return aligner_ids(pair.source[1 + pair.tags : -1]), aligner_ids(pair.target[:-1])


def aligner_ids(letters: Sequence[int]) -> list[int]:
    """Convert vocabulary ids of letters to aligner ids."""
    return [max(0, number - END) for number in letters]


class UnsupervisedAligner:
    """Aligns pairs of strings monotonically, symbol by symbol.

    Each symbol is aligned with at most one of the other string; tags are left out. The same pairs
    always give the same aligner.

    >>> pairs = list(training_pairs(read_examples("lexicon.tsv", FORMATS["lexicon"], "training")))
    >>> links = next(UnsupervisedAligner(pairs).align(pairs))
    """

    def __init__(self, pairs: Sequence[Example]) -> None:
        self._vocabulary = Vocabulary.of(pairs)
        source, target = self._vocabulary.source.letters, self._vocabulary.target.letters
        ids = [self._pair_ids(pair) for pair in pairs]
        self._table = fit(ids, 1 + len(source), 1 + len(target))

    def align(self, pairs: Iterable[Example]) -> Iterator[Links]:
        """Yield the best alignment of each pair, which need not be one of the training pairs."""
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
