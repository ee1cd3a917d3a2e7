"""Where to look: the alignment distribution and the split output map (paper, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.data.vocabulary import END
from hardalign.networks.rows import Rows


@dataclass(frozen=True)
class Memory(Rows):
    """A batch's source words: what of their encoder states is needed, computed only once."""

    present: Tensor
    """[B, J] true at source symbols, false at padding."""
    attention_key: Tensor
    """[B, J, hidden] T e_j."""
    output_key: Tensor
    """[B, J, d_s] the encoder half of S(h ⊕ e)."""


class Attention(nn.Module):
    """The parameters T, S and W, which hard and soft attention share to the last number."""

    def __init__(self, encoded: int, hidden: int, joint: int, symbols: int) -> None:
        super().__init__()
        self.score = nn.Linear(encoded, hidden)  # T
        self.combine = nn.Linear(hidden + encoded, joint)  # S
        self.output = nn.Linear(joint, symbols)  # W
        self._hidden = hidden

    def remember(self, states: Tensor, present: Tensor) -> Memory:
        """Project the encoder's states once for all steps."""
        output_key = F.linear(states, self.combine.weight[:, self._hidden :])
        return Memory(present, self.score(states), output_key)

    def log_alpha(self, decoded: Tensor, memory: Memory) -> Tensor:
        """log α_j(i) [B, I, J] of decoder states [B, I, hidden]; −inf at padding (eq. 3)."""
        scores = decoded @ memory.attention_key.transpose(1, 2)
        return scores.masked_fill(~memory.present.unsqueeze(1), -torch.inf).log_softmax(-1)

    def output_query(self, decoded: Tensor) -> Tensor:
        """The decoder half of S(h ⊕ e), with its bias."""
        return F.linear(decoded, self.combine.weight[:, : self._hidden], self.combine.bias)

    @property
    def output_weight(self) -> Tensor:
        """Rows of W for what can be produced: the end and the letters, never a reserved symbol."""
        return self.output.weight[END:]

    @property
    def output_bias(self) -> Tensor:
        """The bias of W, likewise."""
        return self.output.bias[END:]
