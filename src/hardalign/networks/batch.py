"""Pairs side by side as tensors, padded to the longest of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hardalign.data.vocabulary import PAD, Encoded


@dataclass(frozen=True)
class Batch:
    """Padded tensors of some pairs. Nothing a model computes may depend on the padding."""

    source: Tensor
    """[B, J] begin, tags, letters, end, padding."""
    source_lengths: Tensor
    """[B]"""
    tag_counts: Tensor
    """[B] how many of a row's source symbols are tags."""
    target: Tensor
    """[B, I] letters, end, padding; [B, 0] where targets are to be predicted."""
    target_lengths: Tensor
    """[B]"""

    def __len__(self) -> int:
        return self.source.shape[0]

    def to(self, device: torch.device) -> Batch:
        """Returns the same batch on another device."""
        return Batch(*(tensor.to(device, non_blocking=True) for tensor in vars(self).values()))


def collate(pairs: Sequence[Encoded]) -> Batch:
    """Puts pairs side by side, padded to the longest of them."""
    source, source_lengths = pad([pair.source for pair in pairs])
    target, target_lengths = pad([pair.target for pair in pairs])
    tag_counts = torch.tensor([pair.tags for pair in pairs])
    return Batch(source, source_lengths, tag_counts, target, target_lengths)


def without_tags(batch: Batch) -> Batch:
    """Returns the pairs with begin, letters and end only, no wider than the longest of them."""
    lengths = batch.source_lengths - batch.tag_counts
    position = torch.arange(int(lengths.max()), device=batch.source.device)
    columns = position + torch.where(position > 0, batch.tag_counts.unsqueeze(1), 0)
    letters = batch.source.gather(1, columns.clamp(max=batch.source.shape[1] - 1))
    letters = letters.masked_fill(position >= lengths.unsqueeze(1), PAD)
    none = torch.zeros_like(batch.tag_counts)
    return replace(batch, source=letters, source_lengths=lengths, tag_counts=none)


def pad(rows: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
    """Returns rows of numbers as one tensor [B, longest], and their lengths [B]."""
    lengths = [len(row) for row in rows]
    longest = max(lengths)
    padded = [row + [PAD] * (longest - len(row)) for row in rows]
    return torch.tensor(padded, dtype=torch.long), torch.tensor(lengths)
