"""Systems whose decoder never sees the attention, and so read whole targets at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from hardalign.data.vocabulary import END
from hardalign.networks.attention import Memory
from hardalign.networks.batch import Batch
from hardalign.networks.decoder import Decoder, Hidden
from hardalign.networks.encoder import Encoder
from hardalign.networks.hard import HardHead
from hardalign.networks.rows import Rows
from hardalign.networks.sampled import SampledPositions
from hardalign.networks.soft import SoftHead
from hardalign.networks.transducer import Step, Transducer


@dataclass(frozen=True)
class UnfedState(Rows):
    """The source words and the decoder's memory."""

    memory: Memory
    hidden: Hidden


class UnfedTransducer(Transducer):
    """Encoder, decoder and a head that decides where the weights α go.

    Trained by exact likelihood unless it is given another objective.
    """

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder,
        head: HardHead | SoftHead,
        objective: SampledPositions | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.head = head
        self.objective = objective

    def symbol_log_likelihood(self, batch: Batch) -> Tensor:
        """[B, I] log p(y_i | y_<i, x) in nats, exact; 0 at padding."""
        return self.head.log_likelihood(*self._read(batch))

    def loss(self, batch: Batch) -> Tensor:
        """[B] minus the log-likelihood, or what the objective makes of the pairs."""
        if self.objective is None:
            return super().loss(batch)
        losses: Tensor = self.objective(self.head.attention, *self._read(batch))
        return losses

    def align(self, batch: Batch) -> Tensor:
        """[B, I, J] posterior (hard) or attention weights (soft) of given pairs."""
        return self.head.align(*self._read(batch))

    def begin(self, batch: Batch) -> UnfedState:
        """Read the source words."""
        return UnfedState(self._remember(batch), self.decoder.begin(len(batch)))

    def step(self, state: Rows, previous: Tensor) -> Step:
        """The distribution of the symbol after ``previous`` [N]."""
        state = cast(UnfedState, state)
        decoded, hidden = self.decoder.step(previous, state.hidden)
        log_probs, alpha = self.head.log_probs(decoded, state.memory)
        return Step(log_probs, alpha, UnfedState(state.memory, hidden))

    def _remember(self, batch: Batch) -> Memory:
        states = self.encoder(batch.source, batch.source_lengths)
        present = within(batch.source_lengths, batch.source.shape[1])
        return self.head.attention.remember(states, present)

    def _read(self, batch: Batch) -> tuple[Tensor, Memory, Tensor, Tensor]:
        """Decoder states, source, target classes and the steps that count."""
        steps = within(batch.target_lengths, batch.target.shape[1])
        classes = (batch.target - END).clamp(min=0)  # padding steps count nowhere
        return self.decoder(batch.target), self._remember(batch), classes, steps


def within(lengths: Tensor, longest: int) -> Tensor:
    """Mask [B, longest], true within each row's length."""
    return torch.arange(longest, device=lengths.device) < lengths.unsqueeze(1)
