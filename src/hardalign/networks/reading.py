"""Pairs as the heads see them: source words that were encoded, and what is to be produced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from hardalign.data.vocabulary import END
from hardalign.networks.attention import Attention, Memory
from hardalign.networks.batch import Batch
from hardalign.networks.encoder import Encoder


@dataclass(frozen=True)
class Reading:
    """A batch of pairs whose source words were read."""

    memory: Memory
    target: Tensor
    """[B, I] classes of the output softmax, from 0 for the end on; any value at padding steps."""
    steps: Tensor
    """[B, I] true at steps that count."""

    @classmethod
    def of(cls, batch: Batch, encoder: Encoder, attention: Attention) -> Self:
        """Reads the source words of a batch."""
        states = encoder(batch.source, batch.source_lengths)
        present = within(batch.source_lengths, batch.source.shape[1])
        memory = attention.remember(states, batch.source, present, batch.tag_counts)
        steps = within(batch.target_lengths, batch.target.shape[1])
        return cls(memory, (batch.target - END).clamp(min=0), steps)

    def repeated(self, times: int) -> Self:
        """The same with every step several times in a row: [B, I·times]."""
        target, steps = (t.repeat_interleave(times, 1) for t in (self.target, self.steps))
        return replace(self, target=target, steps=steps)

    def step(self, i: int, times: int) -> Self:
        """One step alone, several times: [B, times]."""
        target, steps = (t[:, i, None].expand(-1, times) for t in (self.target, self.steps))
        return replace(self, target=target, steps=steps)


def within(lengths: Tensor, longest: int) -> Tensor:
    """Returns a mask [B, longest], true within each row's length."""
    return torch.arange(longest, device=lengths.device) < lengths.unsqueeze(1)
