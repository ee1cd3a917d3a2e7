"""The parts that only the monotonic pointer has (paper, section 8.2, system M)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.data.vocabulary import END, PAD


class PointerDecoder(nn.Module):
    """An LSTM over actions and the source states they were chosen at."""

    def __init__(
        self, actions: int, embedding: int, attended: int, hidden: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(actions, embedding, padding_idx=PAD)
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(embedding + attended, hidden, layers, batch_first=True, dropout=between)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, actions)

    def forward(self, previous: Tensor, attended: Tensor, at_end: Tensor) -> Tensor:
        """Returns log-probabilities of the next actions.

        Args:
            previous: [B, K] the actions before them.
            attended: [B, K, attended] what the pointer sees when they are chosen.
            at_end: [B, K] where the pointer can go no further.

        Returns:
            [B, K, C] the classes end, letters, and STEP as the last, impossible ``at_end``.
        """
        states, _ = self.lstm(torch.cat([self.dropout(self.embedding(previous)), attended], -1))
        # Reserved symbols are never produced, so they take no part in the softmax.
        logits = F.linear(self.dropout(states), self.output.weight[END:], self.output.bias[END:])
        barred = F.pad(at_end.unsqueeze(-1), (logits.shape[-1] - 1, 0))
        return logits.masked_fill(barred, -torch.inf).log_softmax(-1)


class TagFeatures(nn.Module):
    """A word's tags as one vector: a slot for each tag there is, zeros where the word lacks it."""

    def __init__(self, tags: int, embedding: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.merge = nn.Linear(tags * embedding, embedding)

    def forward(self, source: Tensor, tag_counts: Tensor, embedding: Tensor) -> Tensor:
        """Merges the tags of each row.

        Args:
            source: [B, J] begin, tags, and what does not matter here.
            tag_counts: [B] how many are tags. Their order counts nothing, nor do unknown tags,
                which have no slot.
            embedding: Of all source symbols; the tags' are the last.

        Returns:
            [B, embedding]
        """
        tags = self.merge.in_features // self.merge.out_features
        column = torch.arange(source.shape[1], device=source.device)
        slots = (source - (len(embedding) - tags) + 1).clamp(min=0)  # 0 where there is no tag
        slots = slots.masked_fill(column > tag_counts.unsqueeze(1), 0)
        present = F.one_hot(slots, tags + 1)[..., 1:].amax(1)  # [B, tags]
        slotted = self.dropout(present.unsqueeze(-1) * embedding[-tags:])  # [B, tags, embedding]
        return self.merge(slotted.flatten(1))  # type: ignore[no-any-return]
