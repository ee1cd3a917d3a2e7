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
    off_path: Tensor | None = None
    """[B, I, J] true where no alignment counts, where training is guided by a path."""

    @classmethod
    def of(cls, batch: Batch, encoder: Encoder, attention: Attention) -> Self:
        """Reads the source words of a batch."""
        states = encoder(batch.source, batch.source_lengths)
        present = within(batch.source_lengths, batch.source.shape[1])
        memory = attention.remember(states, present, batch.tag_counts)
        steps = within(batch.target_lengths, batch.target.shape[1])
        off_path = None
        if batch.path is not None:
            column = torch.arange(batch.source.shape[1], device=batch.source.device)
            path = batch.path + torch.where(batch.path > 0, batch.tag_counts.unsqueeze(1), 0)
            off_path = (column != path.unsqueeze(-1)) & steps.unsqueeze(-1)
        return cls(memory, (batch.target - END).clamp(min=0), steps, off_path)

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
