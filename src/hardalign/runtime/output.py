"""What source positions emit: log softmax(W tanh(S (h_i ⊕ e_j))) for many (i, j) at once.

S (h ⊕ e) falls into a half from the decoder and a half from the encoder, so that the large matrix
products are done once for each prefix and once for each source symbol. What is left for a cell
(i, j) is a sum, a tanh and its share of one product with W.

In a model that copies, a position emits its own symbol with a probability g_j, which comes from the
same tanh (``hardalign.options``). Where words have letters that were never seen, there are more
columns than W has rows: these letters come from copying alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hardalign.data.vocabulary import END
from hardalign.runtime.encoder import SourceStates, SourceVectors
from hardalign.runtime.numbers import Bools, Floats, Ints, log_softmax, logsumexp, widened
from hardalign.runtime.words import Targets, Words

CHUNK_FLOATS = 1 << 19
"""Numbers in the buffers of a chunk of cells: 2 MB, which stay in a core's cache."""


@dataclass(frozen=True)
class OutputKeys:
    """What source symbols bring to the output layer."""

    vectors: SourceVectors
    """The encoder half of S(h ⊕ e), of size d_s."""
    copied: Ints | None
    """[B, J] the class of the target symbol that each position may copy, negative where there is
    none; None in models that do not copy."""
    present: Bools
    """[B, J] true at source symbols, false at padding."""
    columns: int
    """V, how many symbols can be written: those of W, and of strangers that words here have."""


class Output:
    """The maps S and W, and the gate for copying if there is one."""

    def __init__(
        self,
        tensors: Mapping[str, Floats],
        name: str,
        hidden: int,
        copied: Sequence[int] = (),
    ) -> None:
        """Makes an output layer.

        Args:
            tensors: The model's weights.
            name: Of the layer.
            hidden: Width of the decoder's states.
            copied: The target number of each source number, as ``copied_symbols`` returns it.
        """
        combine, self._bias = tensors[f"{name}.combine.weight"], tensors[f"{name}.combine.bias"]
        combine = np.ascontiguousarray(combine.T)  # as products of few vectors read it fastest
        self._query, self._key = combine[:hidden], combine[hidden:]
        # Reserved symbols are never produced: the end is the first that can be.
        self._weight = tensors[f"{name}.output.weight"][END:].T
        self._output_bias = tensors[f"{name}.output.bias"][END:]
        self.symbols = len(self._output_bias)
        self._copied = np.array(copied, np.intp) - END if len(copied) else None
        if self._copied is not None:
            self._gate = tensors[f"{name}.gate.weight"][0]
            self._gate_bias = tensors[f"{name}.gate.bias"]

    def queries(self, decoded: Floats) -> Floats:
        """Returns the decoder half of S(h ⊕ e) with its bias: [..., d_s]."""
        queries: Floats = decoded @ self._query
        queries += self._bias
        return queries

    def keys(self, words: Words, states: SourceStates) -> OutputKeys:
        """Returns what each source symbol brings."""
        copied, columns = None, self.symbols
        if self._copied is not None:
            known = np.minimum(words.symbols, len(self._copied) - 1)
            # Numbers after all those of the source side are those of the target side.
            beyond = words.symbols - len(self._copied)
            copied = np.where(beyond < 0, self._copied[known], beyond - END)
            columns = max(columns, int(copied.max(initial=-1)) + 1)
        return OutputKeys(states.project(self._key), copied, words.present, columns)

    def log_probs(self, joint: Floats) -> Floats:
        """Returns log softmax(W f) [..., V] of vectors f = tanh(S (h ⊕ e)) [..., d_s]."""
        logits = joint @ self._weight
        logits += self._output_bias
        return log_softmax(logits)

    def emission(self, sums: Floats, own: Ints | None, columns: int) -> Floats:
        """Returns log p(· | j, y_<i, x) [R, V] of R cells.

        Args:
            sums: [R, d_s] of both halves of S(h ⊕ e); they are overwritten.
            own: [R] the classes of symbols that may be copied, as ``OutputKeys.copied`` has them.
            columns: V
        """
        joint = np.tanh(sums, out=sums)
        log_probs = widened(self.log_probs(joint), columns)
        if own is not None:
            copied, rest = self._gates(joint, own)
            log_probs += rest[:, None]
            row = np.flatnonzero(own >= 0)
            place = row, own[row]
            log_probs[place] = np.logaddexp(log_probs[place], copied[row])
        return log_probs

    def _gates(self, joint: Floats, own: Ints) -> tuple[Floats, Floats]:
        """Returns log g and log (1 − g) [R] of cells, g = 0 where they have nothing to copy."""
        gate = np.where(own >= 0, joint @ self._gate + self._gate_bias, -np.inf)
        return -np.logaddexp(0, -gate), -np.logaddexp(0, gate)

    def emission_of(self, queries: Floats, row: Ints, keys: OutputKeys, targets: Targets) -> Floats:
        """Returns log p(y_i | j, y_<i, x) of given targets for every position, [P, I, J].

        Args:
            queries: [M, d_s]
            row: [P, I] the query of each step.
            keys: Of the words.
            targets: P of them.

        Returns:
            −inf at padding positions, 0 at padding steps.
        """
        cells = targets.steps[:, :, None] & keys.present[targets.word][:, None]
        emission = np.zeros(cells.shape, queries.dtype)
        emission[targets.steps] = -np.inf
        pair, step, position = np.nonzero(cells)
        values = np.empty(len(pair), queries.dtype)
        size = max(64, CHUNK_FLOATS // sum(self._weight.shape))
        for start in range(0, len(pair), size):
            part = slice(start, start + size)
            p, i, j = pair[part], step[part], position[part]
            joint = queries[row[p, i]]
            joint += keys.vectors.at(targets.word[p], j)
            logits = np.tanh(joint, out=joint) @ self._weight
            logits += self._output_bias
            classes = targets.classes[p, i]
            chosen = logits[np.arange(len(p)), np.minimum(classes, self.symbols - 1)]
            chosen[classes >= self.symbols] = -np.inf  # strangers
            values[part] = chosen - logsumexp(logits)
            if keys.copied is not None:
                own = keys.copied[targets.word[p], j]
                copied, rest = self._gates(joint, own)
                copied[own != classes] = -np.inf
                values[part] = np.logaddexp(values[part] + rest, copied)
        emission[pair, step, position] = values
        return emission


@dataclass(frozen=True)
class Mixture:
    """The next symbol and its position together: log α_j + log p(y | j), of cells that matter."""

    log_probs: Floats
    """[N, V] all positions summed."""
    joint: Floats
    """[R, V] of R cells, row by row."""
    row: Ints
    """[R] the hypothesis of each cell."""
    position: Ints
    """[R] its source position."""
    length: int
    """J, how many positions there are."""

    @classmethod
    def of(
        cls,
        output: Output,
        queries: Floats,
        keys: OutputKeys,
        word: Ints,
        log_alpha: Floats,
        tolerance: float,
    ) -> Mixture:
        """Mixes what the positions emit.

        Args:
            output: S and W.
            queries: [N, d_s]
            keys: Of the words.
            word: [N] the word of each hypothesis.
            log_alpha: [N, J], −inf at padding.
            tolerance: Positions of total weight at most this are left out, and the rest is
                renormalised: no probability is off by more than the tolerance. 0: none is that has
                any.
        """
        rows, length = log_alpha.shape
        least = math.log(tolerance / length) if tolerance else -math.inf
        row, position = np.nonzero(log_alpha > least)
        owner = word.take(row)
        sums = queries.take(row, 0)
        sums += keys.vectors.at(owner, position)
        own = None if keys.copied is None else keys.copied[owner, position]
        joint = output.emission(sums, own, keys.columns)
        if len(row) == rows:  # each has but one position, whose weight is 1
            return cls(joint, joint, row, position, length)
        first = np.searchsorted(row, np.arange(rows))
        weights = log_alpha[row, position]
        weights -= np.log(np.add.reduceat(np.exp(weights), first)).take(row)
        joint += weights[:, None]
        return cls(_sum_rows(joint, row, first), joint, row, position, length)

    def positions(self, rows: Ints, symbols: Ints) -> Floats:
        """Returns log α_j + log p(y | j), [N, J], of hypotheses and the symbols they chose."""
        cells = self._cells.take(rows, 0)
        columns = np.maximum(symbols - END, 0)[:, None]
        return np.where(cells < 0, -np.inf, self.joint[cells, columns])

    @cached_property
    def _cells(self) -> Ints:
        """[N, J] which row of ``joint`` a position has, −1 if it was left out."""
        cells = np.full((len(self.log_probs), self.length), -1)
        cells[self.row, self.position] = np.arange(len(self.row))
        return cells


def _sum_rows(joint: Floats, row: Ints, first: Ints) -> Floats:
    """Returns the log-sum-exp [N, V] of the cells [R, V] of each row.

    Args:
        joint: Of the cells.
        row: [R] of each cell, in order.
        first: [N] the first cell of each row; every row has one.
    """
    if len(first) == 1:
        return logsumexp(joint, 0)[None]
    largest = np.maximum.reduceat(joint, first)
    largest[np.isneginf(largest)] = 0  # what no cell emits
    total = np.add.reduceat(np.exp(joint - largest.take(row, 0)), first)
    return np.asarray(np.log(total) + largest)
