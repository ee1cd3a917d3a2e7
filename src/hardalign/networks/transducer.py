"""What training knows of a model: this interface and no more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from torch import Tensor, nn

from hardalign.data.vocabulary import Encoded
from hardalign.networks.batch import Batch
from hardalign.networks.rare import RareDropout


class Transducer(nn.Module, ABC):
    """A distribution over target strings for each source string, to be learned.

    Nothing that is computed for a pair may depend on the other pairs of its batch, nor on padding.
    """

    def count(self, pairs: Sequence[Encoded]) -> None:
        """Counts the symbols of the training pairs, where what is rare is read as unknown."""
        for module in self.modules():
            if isinstance(module, RareDropout) and module.rate:
                module.count(pairs)

    def prepare(self, pairs: Sequence[Encoded]) -> None:
        """Learns from the training pairs what is learned before training begins."""

    @abstractmethod
    def symbol_log_likelihood(self, batch: Batch) -> Tensor:
        """Returns log p(y_i | y_<i, x) [B, I] in nats of every target symbol, the end included.

        Padding has 0. ``hardalign.systems.System.score`` says what this probability is.
        """

    def log_likelihood(self, batch: Batch) -> Tensor:
        """Returns log p(y | x) [B] in nats, end symbol included."""
        return self.symbol_log_likelihood(batch).sum(-1)

    def loss(self, batch: Batch) -> Tensor:
        """Returns what training minimises for each pair [B]."""
        return -self.log_likelihood(batch)
