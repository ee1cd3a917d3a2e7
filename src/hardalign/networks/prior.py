"""`hard` with a position prior: how far a source symbol is along, compared with the target's.

IBM Model 2's idea: besides what it looks like, an alignment link counts by where it is. The scores
of hard attention get a learned bias by the source symbol's place minus the target symbol's,

    α_j(i) = softmax over j of h_i · T e_j + b[place_j − i],

places being counted from the first letter, so that tags before it do not shift the others.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hardalign.networks.attention import Attention, Memory

REACH = 10
"""Distances beyond this count as this."""


class PriorAttention(Attention):
    """Attention that prefers some distances to others; at first, none."""

    def __init__(self, encoded: int, hidden: int, joint: int, symbols: int) -> None:
        super().__init__(encoded, hidden, joint, symbols)
        self.bias = nn.Parameter(torch.zeros(2 * REACH + 1))

    def log_alpha(self, decoded: Tensor, memory: Memory) -> Tensor:
        """Returns log α_j(i) [B, I, J] of decoder states [B, I, hidden]; −inf at padding."""
        step = torch.arange(decoded.shape[1], device=decoded.device)
        column = torch.arange(memory.present.shape[1], device=decoded.device)
        place = column - 1 - memory.tag_counts.unsqueeze(1)  # [B, J]
        distance = place.unsqueeze(1) - step.unsqueeze(1)  # [B, I, J]
        bias = self.bias[distance.clamp(-REACH, REACH) + REACH]
        return (super().log_alpha(decoded, memory) + bias).log_softmax(-1)
