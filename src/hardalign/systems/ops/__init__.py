"""The array operations that define every system.

There are three engines: ``numpy.py`` for inference, ``torch.py`` for training, and ``onnx.py``,
which records a graph. All optimisations stay behind these operations. If an engine does not
override an operation, the plain definition here applies; tests compare the fast kernels with the
plain ones, and these with loops over all alignments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from hardalign.data.vocabulary import END

Array = Any
"""An array of the engine: NumPy's, torch's or a recorded one."""
Hidden = Any
"""The state of a decoder."""
Cells = Any
"""log p(y_i = v, a_i = j | y_<i, x) for every symbol v and position j, as the engine stores it."""
Transitions = Callable[[slice], Array]
"""Maps a slice of steps to log p(a_i = j | a_{i-1} = k, y_<i, x), [P, I', J, J] at [:, i, k, j]."""
Feed = Callable[[int, Hidden, Array], "tuple[Array, Hidden]"]
"""Maps a step's index, a state and extra vectors [N, E] to outputs [N, 1, H] and the next state."""
Encoder = Callable[[Array, Array], Array]
"""A bidirectional LSTM, unaffected by padding: maps source symbols [B, J], with out-of-vocabulary
ones read as unknown, and their lengths [B] to states [B, J, 2H]."""


class Output(NamedTuple):
    """The output layer and its inputs.

    p(· | j, y_<i, x) = softmax(W tanh(query_i + key_j) + bias). A position that may copy its own
    symbol does so with probability g = sigmoid(gate · tanh(query_i + key_j) + gate_bias).
    """

    query: Array  # [N, I, d_s] the decoder half of S(h ⊕ e), its bias included
    key: Array  # [B, J, d_s] the encoder half
    word: Array | None  # [N] the word of each row; None if in order
    lengths: Array  # [B] number of source symbols of each word
    weight: Array  # [d_s, V] W, transposed
    bias: Array  # [V]
    gate: Array | None = None  # [d_s, 1]
    gate_bias: Array | None = None  # [1]
    copied: Array | None = None  # [B, J] the column that each position may copy; negative if none


class Decoder(Protocol):
    """An LSTM over the embedding of the previous symbol and an optional extra vector [·, E]."""

    def begin(self, rows: int, extra: Array | None = None) -> Hidden:
        """Return the initial state; ``extra`` [rows, E] is the same at every step."""

    def step(
        self, hidden: Hidden, rows: Array | None, symbols: Array, extra: Array | None = None
    ) -> tuple[Array, Hidden]:
        """Read one symbol [N] each, continuing ``rows`` [N] (None: all); return outputs [N, 1, H].

        ``extra`` [N, E] is for this step only.
        """

    def follow(self, previous: Array, extra: Array | None) -> Array:
        """Read whole strings [P, I]; return outputs [P, I, H]; extra is [P, E] or [P, I, E]."""

    def feed(self, previous: Array) -> Feed:
        """Prepare to read strings [N, I] step by step, with an extra vector for each step."""


class Ops(Protocol):
    """The operations of an engine."""

    learns: bool = False
    """Whether parameters change, so that nothing can be precomputed from them."""
    never: float
    """log 0."""

    # --- arrays -------------------------------------------------------------------------------

    # As in NumPy:
    exp: Any
    tanh: Any
    logaddexp: Any
    where: Any
    concatenate: Any
    stack: Any

    def arange(self, stop: Any, like: Array) -> Array:
        """Return 0 … stop − 1 on the device of ``like``."""

    def repeat(self, x: Array, times: int, axis: int = 0) -> Array:
        """Repeat each element of an axis, as ``numpy.repeat``."""

    def zeros(self, like: Array, *shape: Any) -> Array:
        """Return zeros of the type of ``like``."""

    def array(self, x: Array, like: Array) -> Array:
        """Convert from NumPy, to the device of ``like``."""

    def numpy(self, x: Array) -> Array:
        """Convert to NumPy."""

    def log_softmax(self, x: Array) -> Array:
        """Normalise along the last axis."""

    def logsumexp(self, x: Array, axis: int = -1) -> Array: ...

    def take(self, x: Array, index: Array, axis: int) -> Array:
        """Take elements along an axis; the other axes of the index broadcast."""

    def rows(self, x: Array, index: Array | None) -> Array:
        """Return rows of an array; all of them if the index is None."""

    def one_hot(self, position: Array, like: Array) -> Array:
        """Return weights [..., J] like ``like``: 1 at one position [...], 0 elsewhere."""
        is_there = self.arange(like.shape[-1], like) == position[..., None]
        return self.where(is_there, 1.0, self.zeros(like, 1))

    def lookup(self, table: Array, symbols: Array, first: int) -> Array:
        """Return entries of a NumPy table of ints.

        Symbols beyond its end, out of vocabulary, get consecutive values from −``first`` on.
        """

    def masked(self, x: Array, mask: Array) -> Array:
        """Return x where the mask is true and ``never`` elsewhere."""
        return self.where(mask, x, self.never)

    # --- layers -------------------------------------------------------------------------------

    def embed(self, table: Array, index: Array) -> Array:
        """Return rows of a table of parameters."""

    def matrix(self, weight: Array) -> Array:
        """Transpose a weight [out, in] to [in, out], for ``project``."""
        return np.ascontiguousarray(weight.T)  # fastest for products with few vectors

    def project(self, x: Array, matrix: Array, bias: Array | None = None) -> Array:
        """Return x M + b [..., out]; x [..., in] may be the output of an LSTM."""
        return x @ matrix if bias is None else x @ matrix + bias

    def dense(self, x: Array) -> Array:
        """Return an LSTM's outputs as a plain array."""
        return x

    def dropout(self, x: Array) -> Array:
        return x

    def encoder(self, p: Mapping[str, Array]) -> Encoder: ...

    def decoder(self, p: Mapping[str, Array]) -> Decoder: ...

    def log_prob(self, logits: Array, classes: Array) -> Array:
        """Return log softmax(logits) [..., V] at the classes [...]."""
        chosen = self.take(logits, classes[..., None], classes.ndim)
        return chosen[..., 0] - self.logsumexp(logits)

    # --- kernels --------------------------------------------------------------------------------

    def log_emission(self, output: Output) -> Array:
        """Return log p(· | j, y_<i, x) for every step, position and symbol, [N, I, J, V]."""
        key = self.rows(output.key, output.word)[:, None]
        f = self.tanh(output.query[:, :, None] + key)  # [N, I, J, d_s]
        log_probs = self.log_softmax(self.project(f, output.weight, output.bias))
        if output.copied is None:
            return log_probs
        own = self.rows(output.copied, output.word)[:, None, :, None]  # [N, 1, J, 1]
        gate = self.project(f, output.gate, output.gate_bias)  # [N, I, J, 1]
        gate = self.where(own < 0, self.never, gate)
        is_copy = own == self.arange(output.bias.shape[0], output.key)
        # log ((1 − g) p + g [y = x_j]), where log g = −log(1 + exp(−gate)).
        generated = log_probs - self.logaddexp(gate, 0.0)
        copied = self.where(is_copy, -self.logaddexp(-gate, 0.0), self.never)
        return self.logaddexp(generated, copied)

    def log_joint(self, log_alpha: Array, output: Output, classes: Array, mask: Array) -> Array:
        """Return log α_j(i) + log p(y_i | j, y_<i, x), [P, I, J].

        Args:
            log_alpha: [P, I, J], ``never`` at padding positions.
            output: The output layer and its inputs.
            classes: [P, I] columns of the symbols y_i.
            mask: [P, I] false at padding steps, which get only log α.
        """
        emitted = self.take(self.log_emission(output), classes[:, :, None, None], 3)[:, :, :, 0]
        return log_alpha + self.where(mask[:, :, None], emitted, 0.0)

    def mixture(self, log_alpha: Array, output: Output, tolerance: float) -> tuple[Array, Cells]:
        """Return log Σ_j α_j p(· | j) [N, V] of one step, and its terms: here [N, V, J].

        Args:
            log_alpha: [N, J], ``never`` at padding positions.
            output: With queries [N, 1, d_s].
            tolerance: Positions of at most this total weight may be left out, and the rest
                renormalised: no probability is off by more.
        """
        joint = log_alpha[:, :, None] + self.log_emission(output)[:, 0]  # [N, J, V]
        return self.logsumexp(joint, 1), joint.swapaxes(1, 2)

    def origins(self, cells: Cells, rows: Array | None, symbols: Array) -> Array:
        """Return log p(y_i, a_i = j | y_<i, x) [N, J] for the symbols [N] that rows chose."""
        columns = (symbols - END).clip(0)
        return self.take(self.rows(cells, rows), columns[:, None, None], 1)[:, 0]

    def begin_cells(self, like: Array, columns: int) -> Cells:
        """Return the cells [B, V, J] before the first step, all at begin; ``like`` is [B, J, ·]."""
        first = self.arange(like.shape[1], like) < 1
        return self.masked(self.zeros(like, like.shape[0], columns, like.shape[1]), first)

    def forward(self, transitions: Transitions, emission: Array) -> tuple[Array, Array]:
        """Run the forward algorithm over a Markov chain that starts at position 0.

        Returns:
            log p(y_i | y_<i, x) [P, I], and log p(a_i = j | y_≤i, x) before the first step and
            after each, [P, I + 1, J] (None if the engine does not need it).
        """
        first = self.arange(emission.shape[2], emission) < 1
        filtered = [self.masked(self.zeros(emission, len(emission), emission.shape[2]), first)]
        evidence = []
        for i in range(emission.shape[1]):
            moved = filtered[-1][:, :, None] + transitions(slice(i, i + 1))[:, 0]
            joint = self.logsumexp(moved, 1) + emission[:, i]  # [P, J]
            evidence.append(self.logsumexp(joint)[:, None])
            filtered.append(joint - evidence[-1])
        return self.concatenate(evidence, 1), self.stack(filtered, 1)
