"""Systems whose decoder never sees the attention, and so read whole targets at once."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from hardalign.networks.attention import Attention
from hardalign.networks.batch import Batch, without_tags
from hardalign.networks.decoder import Decoder
from hardalign.networks.encoder import Encoder
from hardalign.networks.reading import Reading
from hardalign.networks.transducer import Transducer


class Head(nn.Module, ABC):
    """Decides where the weights α go."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention

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
        self, encoder: Encoder, decoder: Decoder, head: Head, objective: Objective, tags: int = 0
    ) -> None:
        """Puts the parts together; the last ``tags`` source symbols are tags beside words."""
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.head = head
        self.objective = objective
        self._tags = tags

    def symbol_log_likelihood(self, batch: Batch) -> Tensor:
        """Returns log p(y_i | y_<i, x) [B, I] in nats, exact; 0 at padding."""
        return self.head.log_likelihood(*self._read(batch))

    def loss(self, batch: Batch) -> Tensor:
        """Returns what the objective makes of the pairs [B]."""
        losses: Tensor = self.objective(self.head, *self._read(batch))
        return losses

    def _read(self, batch: Batch) -> tuple[Tensor, Reading]:
        """Returns the decoder's states [B, I, hidden], and the source words as they were read."""
        tags = None
        if self._tags:
            tags, batch = self._tags_of(batch), without_tags(batch)
        reading = Reading.of(batch, self.encoder, self.head.attention)
        return self.decoder(batch.target, tags), reading

    def _tags_of(self, batch: Batch) -> Tensor:
        """Returns the sum [B, embedding] of the embeddings of a word's tags; unknown ones are 0."""
        embedding = self.encoder.embedding.weight
        column = torch.arange(batch.source.shape[1], device=batch.source.device)
        known = batch.source >= len(embedding) - self._tags
        known &= column <= batch.tag_counts.unsqueeze(1)
        counts = embedding.new_zeros(len(batch), len(embedding))
        counts.scatter_add_(1, batch.source, known.to(counts.dtype))
        return counts[:, -self._tags :] @ embedding[-self._tags :]
