"""The array operations over which every system is defined, and which exist three times.

``numpy.py`` answers, ``torch.py`` learns and ``onnx.py`` records a graph. What makes an engine fast
stays behind these operations; ``plain.py`` holds the definitions that fast versions are tested by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

Array = Any
"""An array of the engine: NumPy's, torch's or a recorded one."""
Hidden = Any
"""What a decoder carries from step to step."""
Cells = Any
"""log p(y_i = v, a_i = j | y_<i, x) for every symbol v and position j, as the engine keeps it."""
Transitions = Callable[[slice], Array]
"""From a slice of the steps to log p(a_i = j | a_{i-1} = k, y_<i, x), [P, I', J, J] at
[:, i, k, j]."""
Feed = Callable[[int, Hidden, "Array | None", Array], "tuple[Array, Hidden]"]
"""From a step's number, what was carried, the rows [N] that go on (None: all) and a vector [N, E]
for each to the decoder's states [N, H] and what is carried on."""


@dataclass(frozen=True)
class Output:
    """What turns a (step, position) pair into probabilities of symbols.

    p(· | j, y_<i, x) = softmax(W tanh(query_i + key_j) + bias). Where a position may copy its own
    symbol, it does so with a probability g = sigmoid(gate · tanh(query_i + key_j) + gate_bias).
    """

    query: Array
    """[N, I, d_s] the decoder half of S(h ⊕ e), its bias included."""
    key: Array
    """[B, J, d_s] the encoder half."""
    word: Array | None
    """[N] the word of each row; None where they are in order."""
    lengths: Array
    """[B] how many source symbols each word has."""
    weight: Array
    """[d_s, V] W, transposed."""
    bias: Array
    """[V]"""
    gate: Array | None = None
    """[d_s, 1]"""
    gate_bias: Array | None = None
    """[1]"""
    copied: Array | None = None
    """[B, J] the column of the symbol that a position may copy, negative where there is none."""


class Encoder(Protocol):
    """A bidirectional LSTM over source symbols, in which padding is never read before a word."""

    def __call__(self, symbols: Array, lengths: Array) -> Array:
        """Returns states [B, J, 2H] of symbols [B, J]; those out of vocabulary are unknown."""


class Decoder(Protocol):
    """An LSTM over the embedding of the last symbol and, beside it, a vector of E more numbers."""

    def begin(self, rows: int, extra: Array | None = None) -> Hidden:
        """Returns what is carried before anything was read; ``extra`` [rows, E] stays the same."""

    def step(self, hidden: Hidden, rows: Array | None, symbols: Array) -> tuple[Array, Hidden]:
        """Reads one symbol [N] each, on from ``rows`` [N]; returns states [N, 1, H]."""

    def follow(self, previous: Array, extra: Array | None) -> Array:
        """Reads whole strings [P, I]; returns states [P, I, H]; extra is [P, E] or [P, I, E]."""

    def enter(self, symbols: Array) -> Feed:
        """Prepares reading symbols [N, I] step by step, each with another vector beside it."""


class Ops(Protocol):
    """What an engine offers."""

    learns: bool
    """Whether parameters change, so that nothing can be prepared once for all."""
    never: float
    """log 0."""

    # --- arrays -------------------------------------------------------------------------------

    def arange(self, stop: Any, like: Array) -> Array:
        """Returns 0 … stop − 1 on the device of ``like``."""

    def longest(self, lengths: Array) -> Any:
        """Returns the largest of some lengths."""

    def where(self, condition: Array, x: Any, y: Any) -> Array:
        """Chooses element by element."""

    def concatenate(self, parts: Sequence[Array], axis: int) -> Array:
        """Joins arrays along an axis."""

    def stack(self, parts: Sequence[Array], axis: int) -> Array:
        """Joins arrays along a new axis."""

    def repeat(self, x: Array, times: int, axis: int = 0) -> Array:
        """Repeats every row several times in a row."""

    def zeros(self, like: Array, *shape: Any) -> Array:
        """Returns zeros of the type of ``like``."""

    def array(self, x: Array, like: Array) -> Array:
        """Returns a NumPy array as one of the engine, on the device of ``like``."""

    def numpy(self, x: Array) -> Array:
        """Returns an array as a NumPy array."""

    def exp(self, x: Array) -> Array:
        """Returns e^x."""

    def tanh(self, x: Array) -> Array:
        """Returns tanh x."""

    def transpose(self, x: Array) -> Array:
        """Swaps the last two axes."""

    def sum(self, x: Array, axis: int) -> Array:
        """Sums along an axis."""

    def log_softmax(self, x: Array) -> Array:
        """Returns x − log Σ exp x along the last axis."""

    def logsumexp(self, x: Array, axis: int = -1) -> Array:
        """Returns log Σ exp x along an axis."""

    def logaddexp(self, x: Array, y: Any) -> Array:
        """Returns log(exp x + exp y)."""

    def take(self, x: Array, index: Array, axis: int) -> Array:
        """Takes elements along an axis; the other axes of the index broadcast."""

    def rows(self, x: Array, index: Array | None) -> Array:
        """Returns rows of an array; all of them where the index is None."""

    def best(self, x: Array) -> Array:
        """Returns 1 at the largest element along the last axis and 0 elsewhere."""

    def lookup(self, table: Array, symbols: Array, first: int) -> Array:
        """Returns entries of a NumPy table of numbers.

        Symbols after its end, which are out of vocabulary, count on from − ``first``.
        """

    def constant(self) -> AbstractContextManager[object]:
        """Returns a context in which nothing is recorded for gradients."""

    def masked(self, x: Array, mask: Array) -> Array:
        """Returns x where the mask is true and ``never`` elsewhere."""

    # --- layers -------------------------------------------------------------------------------

    def embed(self, table: Array, index: Array) -> Array:
        """Returns rows of a table of parameters."""

    def matrix(self, weight: Array) -> Array:
        """Returns a weight [out, in] as ``project`` takes it: [in, out]."""

    def project(self, x: Array, matrix: Array, bias: Array | None = None) -> Array:
        """Returns x M + b [..., out] of x [..., in], which may be what an LSTM returned."""

    def dense(self, x: Array) -> Array:
        """Returns what an LSTM returned as a plain array."""

    def dropout(self, x: Array) -> Array:
        """Drops elements at random while learning."""

    def encoder(self, parameters: Mapping[str, Array]) -> Encoder:
        """Returns the encoder of some parameters."""

    def decoder(self, parameters: Mapping[str, Array]) -> Decoder:
        """Returns the decoder of some parameters."""

    # --- alignments ---------------------------------------------------------------------------

    def log_prob(self, logits: Array, classes: Array) -> Array:
        """Returns log softmax(logits) [..., V] at the classes [...]."""

    def log_joint(self, log_alpha: Array, output: Output, classes: Array, steps: Array) -> Array:
        """Returns log α_j(i) + log p(y_i | j, y_<i, x), [P, I, J].

        Args:
            log_alpha: [P, I, J], ``never`` at padding positions.
            output: The output layer and what goes into it.
            classes: [P, I] columns of the symbols y_i.
            steps: [P, I] false at padding steps, which get log α alone.
        """

    def mixture(self, log_alpha: Array, output: Output, tolerance: float) -> tuple[Array, Cells]:
        """Returns log Σ_j α_j p(· | j) [N, V] of one step, and its cells.

        Args:
            log_alpha: [N, J], ``never`` at padding positions.
            output: With queries [N, 1, d_s].
            tolerance: Positions of total weight at most this may be left out, and the rest
                renormalised: no probability is off by more.
        """

    def origins(self, cells: Cells, rows: Array | None, symbols: Array) -> Array:
        """Returns log p(y_i, a_i = j | y_<i, x) [N, J] of the symbols [N] that rows chose."""

    def begin_cells(self, like: Array, columns: int) -> Cells:
        """Returns the cells before the first step: whatever was chosen, it came from begin.

        Args:
            like: [B, J, ·]
            columns: V
        """

    def forward(self, transitions: Transitions, emission: Array) -> tuple[Array, Array]:
        """Runs the forward algorithm over a Markov chain that begins at position 0.

        Returns:
            log p(y_i | y_<i, x) [P, I], and log p(a_i = j | y_≤i, x) before the first step and
            after each, [P, I + 1, J] (None where the engine has no use for it).
        """
