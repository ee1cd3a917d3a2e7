"""The output layer's inputs and weights, as every function of this package takes them."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Copying:
    """What lets a position emit its own symbol: g = sigmoid(weight · tanh(query_i + key_j) + bias).

    p(y | j, y_<i, x) = (1 − g) softmax(…)_y + g [y = symbol_j], and g = 0 where there is no symbol.
    """

    symbol: Tensor
    """[B, J] the class of each position's own symbol; negative where it has none to copy."""
    weight: Tensor
    """[1, d_s]"""
    bias: Tensor
    """[1]"""


@dataclass(frozen=True)
class OutputLayer:
    """What turns a (step, position) pair into the probabilities of symbols.

    p(· | j, y_<i, x) = softmax(W tanh(query_i + key_j) + bias), or what ``Copying`` makes of it.
    """

    query: Tensor
    """[B, I, d_s] decoder half of S(h ⊕ e), its bias included."""
    key: Tensor
    """[B, J, d_s] encoder half."""
    weight: Tensor
    """[V, d_s] W."""
    bias: Tensor
    """[V]"""
    copying: Copying | None = None


@dataclass(frozen=True)
class Cells:
    """Which (word, step, position) triples to compute, as three index lists of equal length."""

    word: Tensor
    """[R] below B."""
    step: Tensor
    """[R] below I."""
    position: Tensor
    """[R] below J."""

    def __len__(self) -> int:
        return self.word.shape[0]


@dataclass(frozen=True)
class Tolerance:
    """What may be left out because it hardly counts; nothing, if nothing is said."""

    value: float = 0.0
    """Largest relative error of a symbol's probability from leaving positions out."""
    gradient: float = 0.0
    """Cells are left out of the backward pass whose incoming gradient is at most this fraction of
    the largest one of the same word. Other words do not matter."""


EXACT = Tolerance()
