"""What source positions emit: log softmax(W tanh(S (h_i ⊕ e_j))) for many (i, j) at once.

S (h ⊕ e) falls into a half from the decoder and a half from the encoder, so that the large matrix
products are done once for each prefix and once for each source symbol. What is left for a cell
(i, j) is a sum, a tanh and its share of one product with W.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hardalign.data.vocabulary import END
from hardalign.runtime.encoder import SourceStates, SourceVectors
from hardalign.runtime.numbers import Bools, Floats, Ints, log_softmax, logsumexp, of_words, tanh_
from hardalign.runtime.words import Targets

CHUNK_FLOATS = 1 << 19
"""Numbers in the buffers of a chunk of cells: 2 MB, which stay in a core's cache."""


class Output:
    """The maps S and W."""

    def __init__(self, tensors: Mapping[str, Floats], name: str, hidden: int) -> None:
        combine, self._bias = tensors[f"{name}.combine.weight"], tensors[f"{name}.combine.bias"]
        self._query = np.ascontiguousarray(combine[:, :hidden].T)  # for products of single vectors
        self._key = combine[:, hidden:]
        # Reserved symbols are never produced: the end is the first that can be.
        self._weight = tensors[f"{name}.output.weight"][END:].T
        self._output_bias = tensors[f"{name}.output.bias"][END:]
        self.symbols = len(self._output_bias)

    def queries(self, decoded: Floats) -> Floats:
        """Returns the decoder half of S(h ⊕ e) with its bias: [..., d_s]."""
        queries: Floats = decoded @ self._query
        queries += self._bias
        return queries

    def keys(self, states: SourceStates) -> SourceVectors:
        """Returns the encoder half of S(h ⊕ e) of each source symbol, vectors of size d_s."""
        return states.project(self._key)

    def log_probs(self, joint: Floats) -> Floats:
        """Returns log softmax(W f) [..., V] of vectors f = tanh(S (h ⊕ e)) [..., d_s]."""
        logits = joint @ self._weight
        logits += self._output_bias
        return log_softmax(logits)

    def given(
        self, queries: Floats, row: Ints, keys: SourceVectors, present: Bools, targets: Targets
    ) -> Floats:
        """Returns log p(y_i | j, y_<i, x) of given targets for every position, [P, I, J].

        Args:
            queries: [M, d_s]
            row: [P, I] the query of each step.
            keys: Of the words, of size d_s.
            present: [B, J] true at source symbols.
            targets: P of them.

        Returns:
            −inf at padding positions, 0 at padding steps.
        """
        cells = targets.steps[:, :, None] & present[targets.word][:, None]
        emission = np.zeros(cells.shape, queries.dtype)
        emission[targets.steps] = -np.inf
        pair, step, position = np.nonzero(cells)
        values = np.empty(len(pair), queries.dtype)
        size = max(64, CHUNK_FLOATS // sum(self._weight.shape))
        for start in range(0, len(pair), size):
            part = slice(start, start + size)
            p, i = pair[part], step[part]
            joint = queries[row[p, i]]
            joint += keys.at(targets.word[p], position[part])
            logits = tanh_(joint) @ self._weight
            logits += self._output_bias
            values[part] = logits[np.arange(len(p)), targets.classes[p, i]] - logsumexp(logits)
        emission[pair, step, position] = values
        return emission


@dataclass(frozen=True)
class Mixture:
    """The next symbol and its position together: log α_j + log p(y | j), of cells that matter."""

    log_probs: Floats
    """[N, V] all positions summed."""
    joint: Floats
    """[R, V] of R cells; the last row is −inf if positions were left out."""
    cell: Ints
    """[N, J] which row of ``joint`` a position has."""

    @classmethod
    def of(
        cls,
        output: Output,
        queries: Floats,
        keys: SourceVectors,
        word: Ints,
        log_alpha: Floats,
        tolerance: float,
    ) -> Mixture:
        """Mixes what the positions emit.

        Args:
            output: S and W.
            queries: [N, d_s]
            keys: Of the words, of size d_s.
            word: [N] the word of each hypothesis.
            log_alpha: [N, J], −inf at padding.
            tolerance: Positions of total weight at most this are left out, and the rest is
                renormalised: no probability is off by more than the tolerance. 0: none is.
        """
        rows, length = log_alpha.shape
        if not tolerance:
            vectors = (of_words(keys.all, word) + queries[:, None]).reshape(rows * length, -1)
            cell = np.arange(rows * length).reshape(rows, length)
            joint = output.log_probs(tanh_(vectors)).reshape(rows, length, -1)
            joint += log_alpha[:, :, None]
            return cls(logsumexp(joint, 1), joint.reshape(rows * length, -1), cell)
        chosen = log_alpha > np.log(tolerance / length)
        log_alpha = log_softmax(np.where(chosen, log_alpha, -np.inf))
        row, position = np.nonzero(chosen)
        joint = np.empty((len(row) + 1, output.symbols), queries.dtype)
        vectors = queries[row]
        vectors += keys.at(word[row], position)
        joint[:-1] = output.log_probs(tanh_(vectors))
        joint[:-1] += log_alpha[row, position, None]
        joint[-1] = -np.inf
        cell = np.full((rows, length), len(row))
        cell[row, position] = np.arange(len(row))
        return cls(_sum_rows(joint[:-1], row, rows), joint, cell)

    def positions(self, rows: Ints, symbols: Ints) -> Floats:
        """Returns log α_j + log p(y | j), [N, J], of hypotheses and the symbols they chose."""
        columns = np.maximum(symbols - END, 0)[:, None]
        return np.asarray(self.joint[self.cell[rows], columns])


def _sum_rows(joint: Floats, row: Ints, rows: int) -> Floats:
    """Returns the log-sum-exp [rows, V] of the cells [R, V] of each row; every row has one."""
    if len(joint) == rows:
        return joint
    first = np.searchsorted(row, np.arange(rows))
    largest = np.maximum.reduceat(joint, first)
    total = np.add.reduceat(np.exp(joint - largest[row]), first)
    return np.asarray(np.log(total) + largest)
