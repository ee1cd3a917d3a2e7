"""Where to look: the alignment distribution and the split output map (paper, section 4.2).

Besides, pairs as the heads see them: source words that were read, and what is to be produced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.data.vocabulary import END
from hardalign.networks.batch import Batch
from hardalign.networks.encoder import Encoder
from hardalign.ops.layer import Copying, OutputLayer
from hardalign.sizes import PRIOR_REACH


@dataclass(frozen=True)
class Memory:
    """A batch's source words: their encoder states, and what every step needs of them."""

    states: Tensor
    """[B, J, 2·encoder] e_j."""
    present: Tensor
    """[B, J] true at source symbols, false at padding."""
    tag_counts: Tensor
    """[B] how many of a word's symbols are tags, which stand between begin and first letter."""
    attention_key: Tensor
    """[B, J, hidden] T e_j."""
    output_key: Tensor
    """[B, J, d_s] the encoder half of S(h ⊕ e)."""
    copied: Tensor | None = None
    """[B, J] the class of the target symbol that each position may copy, negative where there is
    none; None in models that do not copy."""


class Attention(nn.Module):
    """The parameters T, S and W, which hard and soft attention share to the last number."""

    copied: Tensor
    """[source symbols] the class that each is copied to; see ``Memory.copied``."""

    def __init__(self, encoded: int, hidden: int, joint: int, symbols: int) -> None:
        super().__init__()
        self.score = nn.Linear(encoded, hidden)  # T
        self.combine = nn.Linear(hidden + encoded, joint)  # S
        self.output = nn.Linear(joint, symbols)  # W
        self.gate: nn.Linear | None = None  # until ``copy_symbols``
        self._hidden = hidden

    def copy_symbols(self, numbers: Sequence[int]) -> None:
        """Adds a gate; numbers are those of ``hardalign.options.copied_symbols``."""
        self.gate = nn.Linear(self.output.in_features, 1)
        # It follows from the vocabulary, so it is no part of the model's weights.
        self.register_buffer("copied", torch.tensor(numbers) - END, persistent=False)

    def remember(
        self, states: Tensor, source: Tensor, present: Tensor, tag_counts: Tensor
    ) -> Memory:
        """Projects the encoder's states of ``source`` [B, J] once for all steps."""
        output_key = F.linear(states, self.combine.weight[:, self._hidden :])
        copied = None if self.gate is None else self.copied[source]
        return Memory(states, present, tag_counts, self.score(states), output_key, copied)

    def log_alpha(self, decoded: Tensor, memory: Memory) -> Tensor:
        """Returns log α_j(i) [B, I, J] of states [B, I, hidden]; −inf at padding (eq. 3)."""
        scores = decoded @ memory.attention_key.transpose(1, 2)
        return scores.masked_fill(~memory.present.unsqueeze(1), -torch.inf).log_softmax(-1)

    def output_query(self, decoded: Tensor) -> Tensor:
        """Returns the decoder half of S(h ⊕ e), with its bias."""
        return F.linear(decoded, self.combine.weight[:, : self._hidden], self.combine.bias)

    def output_layer(self, query: Tensor, memory: Memory) -> OutputLayer:
        """Returns what decoder halves [B, I, d_s] and source words emit symbols by."""
        copying = None
        if self.gate is not None and memory.copied is not None:
            copying = Copying(memory.copied, self.gate.weight, self.gate.bias)
        return OutputLayer(query, memory.output_key, self.output_weight, self.output_bias, copying)

    def logits(self, joint: Tensor) -> Tensor:
        """Returns W c̄ + b [..., V] of vectors [..., d_s]."""
        return F.linear(joint, self.output_weight, self.output_bias)

    @property
    def output_weight(self) -> Tensor:
        """Rows of W for what can be produced: the end and the letters, never a reserved symbol."""
        return self.output.weight[END:]

    @property
    def output_bias(self) -> Tensor:
        """The bias of W, likewise."""
        return self.output.bias[END:]


class PriorAttention(Attention):
    """Attention with a position prior, as IBM Model 2 has one; at first, it prefers nothing.

    A learned bias counts how far a source symbol is along, compared with the target's,

        α_j(i) = softmax over j of h_i · T e_j + b[place_j − i],

    places being counted from the first letter, so that tags before it do not shift the others.
    """

    def __init__(self, encoded: int, hidden: int, joint: int, symbols: int) -> None:
        super().__init__(encoded, hidden, joint, symbols)
        self.bias = nn.Parameter(torch.zeros(2 * PRIOR_REACH + 1))

    def log_alpha(self, decoded: Tensor, memory: Memory) -> Tensor:
        """Returns log α_j(i) [B, I, J] of decoder states [B, I, hidden]; −inf at padding."""
        step = torch.arange(decoded.shape[1], device=decoded.device)
        column = torch.arange(memory.present.shape[1], device=decoded.device)
        place = column - 1 - memory.tag_counts.unsqueeze(1)  # [B, J]
        distance = place.unsqueeze(1) - step.unsqueeze(1)  # [B, I, J]
        bias = self.bias[distance.clamp(-PRIOR_REACH, PRIOR_REACH) + PRIOR_REACH]
        return (super().log_alpha(decoded, memory) + bias).log_softmax(-1)


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
        """Returns the same with every step several times in a row: [B, I·times]."""
        target, steps = (t.repeat_interleave(times, 1) for t in (self.target, self.steps))
        return replace(self, target=target, steps=steps)

    def step(self, i: int, times: int) -> Self:
        """Returns one step alone, several times: [B, times]."""
        target, steps = (t[:, i, None].expand(-1, times) for t in (self.target, self.steps))
        return replace(self, target=target, steps=steps)


def within(lengths: Tensor, longest: int) -> Tensor:
    """Returns a mask [B, longest], true within each row's length."""
    return torch.arange(longest, device=lengths.device) < lengths.unsqueeze(1)


def log_prob_of(logits: Tensor, target: Tensor, steps: Tensor) -> Tensor:
    """Returns log softmax(logits) at the target; 0 at padding steps.

    Args:
        logits: [..., V]
        target: [...] classes, any at padding steps.
        steps: [...] true at steps that count.
    """
    chosen = logits.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return (chosen - logits.logsumexp(-1)).masked_fill(~steps, 0.0)
