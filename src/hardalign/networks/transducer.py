"""What search, scoring, training and pictures know of a model: this interface and no more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from hardalign.data.encoding import Encoded
from hardalign.networks.batch import Batch
from hardalign.networks.rows import Rows


@dataclass(frozen=True)
class Step:
    """One step of a search, one row per hypothesis."""

    log_probs: Tensor
    """[N, V] of the next symbol: column 0 is the end, column k the letter numbered END + k. A model
    with a silent action has one more column for it."""
    alignment: Tensor
    """[N, J] where the model looks: the weights α_j(i), before the next symbol is known."""
    state: Rows
    """After this step, still to be told which symbol was chosen."""


class Transducer(nn.Module, ABC):
    """A distribution over target strings for each source string."""

    @property
    def silent(self) -> int:
        """Number of an action that writes nothing, so that a string can be written in many ways.

        −1 if there is none, and the steps of a string are its symbols. A model takes silent
        actions at most as often as there are source symbols.
        """
        return -1

    def prepare(self, pairs: Sequence[Encoded]) -> None:
        """Learn from the training pairs what is learned before training begins."""

    @abstractmethod
    def symbol_log_likelihood(self, batch: Batch) -> Tensor:
        """[B, I] log p(y_i | y_<i, x) in nats of every target symbol, the end included; else 0."""

    def log_likelihood(self, batch: Batch) -> Tensor:
        """[B] log p(y | x) in nats, end symbol included."""
        return self.symbol_log_likelihood(batch).sum(-1)

    def loss(self, batch: Batch) -> Tensor:
        """[B] what training minimises for each pair."""
        return -self.log_likelihood(batch)

    def forward(self, batch: Batch) -> Tensor:
        """The loss, so that wrappers for several devices find it where they look."""
        return self.loss(batch)

    @abstractmethod
    def begin(self, batch: Batch) -> Rows:
        """Read the source words once, before the first step."""

    @abstractmethod
    def step(self, state: Rows, previous: Tensor) -> Step:
        """What comes after ``previous`` [N], the actions chosen last (``BEGIN`` at first)."""

    @abstractmethod
    def align(self, batch: Batch) -> Tensor:
        """[B, I, J] p(a_i = j | x, y) of given pairs: which source symbol each symbol came from."""
