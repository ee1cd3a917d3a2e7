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

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

Pair = tuple[Sequence[int], Sequence[int]]
"""The ids of a source string and of a target string; either may be empty."""
Path = list[tuple[int | None, int | None]]
"""(j, i) substitutes, (j, None) deletes, (None, i) inserts; positions count from 0."""

_BATCH_CELLS = 1 << 17  # the table cells of a batch: enough to hide Python, few enough for caches
_GRID = 2.0**30  # best paths are sought on log-probabilities rounded to multiples of 1 / _GRID


class _Batch(NamedTuple):
    places: list[int]  # of its pairs among all pairs
    source: Tensor  # [B, J] rows of the table
    target: Tensor  # [B, I] columns of the table
    ends: tuple[Tensor, Tensor, Tensor]  # each [B]: 0 … B - 1, |x|, |y|, the pairs' last cells


def fit(
    pairs: Sequence[Pair],
    source_size: int,
    target_size: int,
    *,
    iterations: int = 8,
    smoothing: float = 0.1,
) -> Tensor:
    """Learn θ from pairs by EM; no randomness is involved.

    Args:
        pairs: What to learn from.
        source_size: How many source ids there are, unknown symbols' included.
        target_size: How many target ids there are.
        iterations: EM steps.
        smoothing: Pseudo-count of every operation, above 0: what never occurs aligns all the same.

    Returns:
        The log-probability table, [source_size + 1, target_size + 1] in float64.
    """
    if smoothing <= 0:
        raise ValueError(f"smoothing must be above 0, not {smoothing}")
    weights = torch.ones(source_size + 1, target_size + 1, dtype=torch.float64)
    batches = list(_batches(weights, pairs))
    # A uniform start favours pairing: a substitution is one factor, a deletion and insertion two.
    table = _normalise(weights)
    for _ in range(iterations):
        table = _normalise(_count(table, batches) + smoothing)
    return table


def log_likelihood(table: Tensor, pairs: Sequence[Pair]) -> list[float]:
    """Return log p(x, y) of each pair: the log of the sum over all its paths, in nats."""
    table = table.detach().to("cpu", torch.float64)  # however it was stored
    values = [0.0] * len(pairs)
    for batch in _batches(table, pairs):
        for k, value in zip(batch.places, _log_partition(table, batch).tolist(), strict=True):
            values[k] = value
    return values


def align(table: Tensor, pairs: Sequence[Pair]) -> list[Path]:
    """Find the most probable path of each pair.

    Of equally probable paths, the one whose symbols are paired earliest: of two letters that may
    both stand for a sound, the first does and the second is deleted. Where deletions and
    insertions meet, the deletions come first.
    """
    # Sums of integers below 2^53 are exact in any order, so that ties are ties, not rounding.
    table = (table.detach().to("cpu", torch.float64) * _GRID).round()
    paths: list[Path] = [[]] * len(pairs)
    for batch in _batches(table, pairs):
        substitute, delete, insert = _gather(table, batch)
        best = _forward(substitute, delete, insert, torch.maximum, lambda row: row.cummax(1).values)
        # Walking cell by cell is no work for tensors, so to plain lists.
        columns = (t.tolist() for t in (best, delete, insert, *batch.ends[1:]))
        for k, *pair in zip(batch.places, *columns, strict=True):
            paths[k] = _trace(*pair)
    return paths


def _trace(
    best: list[list[float]], delete: list[float], insert: list[float], j: int, i: int
) -> Path:
    """Walk from cell (j, i) of the best scores back to (0, 0)."""
    path: Path = []
    while j or i:
        if i and best[j][i] == best[j][i - 1] + insert[i - 1]:
            i -= 1
            path.append((None, i))
        elif j and best[j][i] == best[j - 1][i] + delete[j - 1]:
            j -= 1
            path.append((j, None))
        else:
            j, i = j - 1, i - 1
            path.append((j, i))
    path.reverse()
    return path


def _normalise(weights: Tensor) -> Tensor:
    """Turn the weights of operations into log-probabilities: the M step of EM."""
    weights[0, 0] = 0
    return (weights / weights.sum()).log()


def _count(table: Tensor, batches: list[_Batch]) -> Tensor:
    """Differentiate the log-likelihood: ∂ log p / ∂ log θ is an operation's expected count."""
    counts = torch.zeros_like(table)
    table = table.clone().requires_grad_()
    with torch.enable_grad():
        for batch in batches:
            counts += torch.autograd.grad(_log_partition(table, batch).sum(), table)[0]
    return counts


def _log_partition(table: Tensor, batch: _Batch) -> Tensor:
    scores = _gather(table, batch)
    return _forward(*scores, torch.logaddexp, lambda row: row.logcumsumexp(dim=1))[batch.ends]


def _gather(table: Tensor, batch: _Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Look up the scores to substitute [B, J, I], to delete [B, J] and to insert [B, I]."""
    x, y = batch.source, batch.target
    return table[x.unsqueeze(2), y.unsqueeze(1)], table[:, 0][x], table[0][y]


def _forward(
    substitute: Tensor,
    delete: Tensor,
    insert: Tensor,
    plus: Callable[[Tensor, Tensor], Tensor],
    accumulate: Callable[[Tensor], Tensor],
) -> Tensor:
    """Sum the scores of all paths to every cell, in the semiring of ``plus``: [B, J + 1, I + 1].

    ``accumulate`` is the running ``plus`` along a row. It does all insertions of a row at once:
    inserting from i' to i scores c_i - c_i', with c the running sum of the insertions' scores.
    No cell depends on later ones, so padding needs no mask.
    """
    inserted = F.pad(insert.cumsum(dim=1), (1, 0))  # [B, I + 1] c
    rows = [inserted]
    # unbind, not indexing: the gradient of an index is as large as all that was indexed.
    for pair, skip in zip(substitute.unbind(1), delete.unbind(1), strict=True):  # [B, I], [B]
        deleted = rows[-1] + skip.unsqueeze(1)
        met = plus(deleted[:, 1:], rows[-1][:, :-1] + pair)
        entering = torch.cat([deleted[:, :1], met], dim=1)  # [B, I + 1] all but insertions
        rows.append(inserted + accumulate(entering - inserted))
    return torch.stack(rows, dim=1)


def _batches(table: Tensor, pairs: Sequence[Pair]) -> Iterator[_Batch]:
    """Cut the pairs into batches of similar lengths, of at most _BATCH_CELLS padded cells each."""
    places = sorted(range(len(pairs)), key=lambda k: (len(pairs[k][0]), len(pairs[k][1])))
    starts: list[int] = []
    longest = 0
    for place, (x, y) in enumerate(pairs[k] for k in places):
        longest = max(longest, len(y))
        if not starts or (place + 1 - starts[-1]) * (len(x) + 1) * (longest + 1) > _BATCH_CELLS:
            starts.append(place)
            longest = len(y)
    for start, end in pairwise([*starts, len(places)]):
        part = places[start:end]
        source, rows = _pad([pairs[k][0] for k in part], table.shape[0])
        target, columns = _pad([pairs[k][1] for k in part], table.shape[1])
        yield _Batch(part, source, target, (torch.arange(len(part)), rows, columns))


def _pad(strings: list[Sequence[int]], size: int) -> tuple[Tensor, Tensor]:
    """Make a tensor [B, L] of rows or columns of the table, and the strings' lengths [B]."""
    tensors = [torch.tensor(string, dtype=torch.long) + 1 for string in strings]
    # Any symbol may fill up: what stands after the end of a string is never reached.
    padded = pad_sequence(tensors, batch_first=True, padding_value=1)
    if padded.numel() and not 0 < int(padded.min()) <= int(padded.max()) < size:
        raise ValueError(f"ids must be from 0 to {size - 2}")
    return padded, torch.tensor([len(string) for string in strings])
