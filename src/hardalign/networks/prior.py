"""`hard` with a position prior: how far a source symbol is along, compared with the target's.

IBM Model 2's idea: besides what it looks like, an alignment link counts by where it is. The scores
of hard attention get a learned bias by the source symbol's place minus the target symbol's,

    α_j(i) = softmax over j of h_i · T e_j + b[place_j − i],

places being counted from the first letter, so that tags before it do not shift the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor, nn

from hardalign.networks.attention import Attention, Memory
from hardalign.networks.batch import Batch
from hardalign.networks.rows import Rows
from hardalign.networks.transducer import Step
from hardalign.networks.unfed import UnfedState, UnfedTransducer

REACH = 10
"""Distances beyond this count as this."""


@dataclass(frozen=True)
class PlacedMemory(Memory):
    """Source words and where their symbols are."""

    ahead: Tensor
    """[B, J] by how many places each symbol is ahead of the next target symbol."""


class PriorAttention(Attention):
    """Attention that prefers some distances to others; at first, none."""

    def __init__(self, encoded: int, hidden: int, joint: int, symbols: int) -> None:
        super().__init__(encoded, hidden, joint, symbols)
        self.bias = nn.Parameter(torch.zeros(2 * REACH + 1))

    def log_alpha(self, decoded: Tensor, memory: Memory) -> Tensor:
        """log α_j(i) [B, I, J] of decoder states [B, I, hidden]; −inf at padding."""
        step = torch.arange(decoded.shape[1], device=decoded.device).unsqueeze(1)
        distance = cast(PlacedMemory, memory).ahead.unsqueeze(1) - step  # [B, I, J]
        bias = self.bias[distance.clamp(-REACH, REACH) + REACH]
        return (super().log_alpha(decoded, memory) + bias).log_softmax(-1)


class PriorTransducer(UnfedTransducer):
    """Tells attention where source symbols are, and in a search how far the target has come."""

    def _remember(self, batch: Batch) -> PlacedMemory:
        place = torch.arange(batch.source.shape[1], device=batch.source.device)
        ahead = place - 1 - batch.tag_counts.unsqueeze(1)
        return PlacedMemory(**vars(super()._remember(batch)), ahead=ahead)

    def step(self, state: Rows, previous: Tensor) -> Step:
        """The distribution of the symbol after ``previous`` [N]."""
        step = super().step(state, previous)
        after = cast(UnfedState, step.state)
        memory = cast(PlacedMemory, after.memory)
        memory = replace(memory, ahead=memory.ahead - 1)
        return replace(step, state=replace(after, memory=memory))
