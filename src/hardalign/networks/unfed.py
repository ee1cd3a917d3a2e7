"""Systems whose decoder never sees the attention, and so read whole targets at once."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from hardalign.networks.attention import Attention
from hardalign.networks.batch import Batch
from hardalign.networks.decoder import Decoder
from hardalign.networks.encoder import Encoder
from hardalign.networks.reading import Reading
from hardalign.networks.transducer import Transducer


class Head(nn.Module, ABC):
    """Decides where the weights α go."""

    attention: Attention

    @abstractmethod
    def log_likelihood(self, decoded: Tensor, reading: Reading) -> Tensor:
        """Returns log p(y_i | y_<i, x) [B, I] of decoder states [B, I, hidden]; 0 at padding."""


class Objective(nn.Module, ABC):
    """What training minimises."""

    @abstractmethod
    def forward(self, head: Head, decoded: Tensor, reading: Reading) -> Tensor:
        """Returns a loss for each pair [B]."""


class Likelihood(Objective):
    """Minus the log-likelihood, exact."""

    def forward(self, head: Head, decoded: Tensor, reading: Reading) -> Tensor:
        """Returns −log p(y | x) [B]."""
        return -head.log_likelihood(decoded, reading).sum(-1)


class UnfedTransducer(Transducer):
    """Encoder, decoder, a head and an objective."""

    def __init__(
        self, encoder: Encoder, decoder: Decoder, head: Head, objective: Objective
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.head = head
        self.objective = objective

    def symbol_log_likelihood(self, batch: Batch) -> Tensor:
        """Returns log p(y_i | y_<i, x) [B, I] in nats, exact; 0 at padding."""
        reading = Reading.of(batch, self.encoder, self.head.attention)
        return self.head.log_likelihood(self.decoder(batch.target), reading)

    def loss(self, batch: Batch) -> Tensor:
        """Returns what the objective makes of the pairs [B]."""
        reading = Reading.of(batch, self.encoder, self.head.attention)
        losses: Tensor = self.objective(self.head, self.decoder(batch.target), reading)
        return losses
