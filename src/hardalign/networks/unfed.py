"""Systems whose decoder never sees the attention, and so read whole targets at once."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from hardalign.networks.attention import Attention, Reading, log_prob_of
from hardalign.networks.batch import Batch, without_tags
from hardalign.networks.decoder import Decoder
from hardalign.networks.encoder import Encoder
from hardalign.networks.transducer import Transducer
from hardalign.ops.layer import EXACT, Tolerance
from hardalign.ops.mixture import mixture_log_joint

TRAINING = Tolerance(value=1e-6, gradient=1e-6)
"""What training may leave out: about what float32 does anyway. Scores leave out nothing."""


class Head(nn.Module, ABC):
    """Decides where the weights α go."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention

    @abstractmethod
    def log_likelihood(self, decoded: Tensor, reading: Reading) -> Tensor:
        """Returns log p(y_i | y_<i, x) [B, I] of decoder states [B, I, hidden]; 0 at padding."""


class HardHead(Head):
    """Hard attention: α outside the softmax, a mixture over positions, exactly (section 3)."""

    def log_likelihood(self, decoded: Tensor, reading: Reading) -> Tensor:
        """Returns log Σ_j α_j(i) p(y_i | j, y_<i, x) [B, I]; 0 at padding steps (eq. 1d)."""
        log_alpha = self.attention.log_alpha(decoded, reading.memory)
        query = self.attention.output_query(decoded)
        return self.log_joint(log_alpha, query, reading).logsumexp(-1)

    def log_joint(self, log_alpha: Tensor, query: Tensor, reading: Reading) -> Tensor:
        """Returns log α_j(i) + log p(y_i | j, y_<i, x) [B, I, J].

        Args:
            log_alpha: [B, I, J]
            query: [B, I, d_s] decoder halves of S(h ⊕ e).
            reading: The pairs.
        """
        layer = self.attention.output_layer(query, reading.memory)
        tolerance = TRAINING if self.training else EXACT
        return mixture_log_joint(log_alpha, layer, reading.target, reading.steps, tolerance)


class SoftHead(Head):
    """Soft attention: α inside the softmax, one mixed context vector (section 5)."""

    def log_likelihood(self, decoded: Tensor, reading: Reading) -> Tensor:
        """Returns log softmax(W f(h_i, c_i)) at y_i [B, I]; 0 at padding steps (eq. 8)."""
        alpha = self.attention.log_alpha(decoded, reading.memory).exp()
        # The encoder half of S commutes with the mixing of states.
        context = alpha @ reading.memory.output_key  # [B, I, d_s]
        joint = (self.attention.output_query(decoded) + context).tanh()
        return log_prob_of(self.attention.logits(joint), reading.target, reading.steps)


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
