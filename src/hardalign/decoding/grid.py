"""The hypotheses of a beam search, as tensors."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor

from hardalign.data.vocabulary import BEGIN, END
from hardalign.networks.rows import Rows

_MIX = 0x9E3779B97F4A7C15 - (1 << 64)
"""The odd number nearest 2⁶⁴ / golden ratio, as a signed integer: it spreads bits well."""


@dataclass(frozen=True)
class Grid(Rows):
    """Hypotheses of W words, B for each, best first.

    Each is a row of the model's state and one action more.
    """

    word: Tensor
    """[W] the words' places in the batch."""
    scores: Tensor
    """[W, B] log-probabilities; −inf in cells without a hypothesis."""
    row: Tensor
    """[W, B] the row of the state; any where there is no hypothesis."""
    action: Tensor
    """[W, B] the number of the last action."""
    written: Tensor
    """[W, B] how many symbols, the last included."""
    spelled: Tensor
    """[W, B] a hash of the symbols: equal for paths that write the same string, and otherwise
    different, but for once in 2⁶⁴."""

    @classmethod
    def start(cls, words: int, device: torch.device) -> Grid:
        """One hypothesis for each word, which has written nothing."""
        word = torch.arange(words, device=device)
        nothing = torch.zeros_like(word).unsqueeze(1)
        begun = torch.full_like(nothing, BEGIN)
        return cls(word, nothing.double(), word.unsqueeze(1), begun, nothing, nothing)

    def continued(self, log_probs: Tensor, count: int, silent: int) -> Grid:
        """The best ``count`` continuations of each word's hypotheses.

        Args:
            log_probs: [N, V] of the actions after each row of the state.
            count: At most.
            silent: The number of the action that writes nothing.
        """
        actions = log_probs.shape[1]
        scores = (self.scores.unsqueeze(2) + log_probs[self.row]).flatten(1)
        # Stable, unlike topk: of equals the first counts as better, as it does to argmax.
        scores, index = scores.sort(dim=1, descending=True, stable=True)
        index = index[:, :count]
        cell, action = index // actions, index % actions + END
        row, written, spelled = (
            column.gather(1, cell) for column in (self.row, self.written, self.spelled)
        )
        writes = action != silent
        mixed = (spelled + action) * _MIX
        spelled = torch.where(writes, mixed ^ (mixed >> 31), spelled)
        return Grid(self.word, scores[:, :count], row, action, written + writes, spelled)

    def columns(self, index: Tensor) -> Self:
        """Some hypotheses of each word: columns [W, K]."""
        first, *rest = (getattr(self, field.name) for field in fields(self))
        return type(self)(first, *(column.gather(1, index) for column in rest))

    def where(self, mask: Tensor) -> Self:
        """The hypotheses for which a mask [W, B] is true; the other cells become empty."""
        return replace(self, scores=self.scores.masked_fill(~mask, -torch.inf))

    def compacted(self) -> tuple[Self, Tensor, Tensor]:
        """Forget words without hypotheses, and prepare the next step of those there are.

        Returns:
            The remaining words, whose hypotheses are rows of a new state; the rows of the old one
            [N] that it is made of; and the actions [N] that they take.
        """
        alive = (self.scores > -torch.inf).cpu()  # here the host waits for the device
        words = alive.any(1).nonzero().squeeze(1)
        alive = alive[words]
        numbers = (alive.flatten().cumsum(0) - 1).clamp(min=0).view_as(alive)
        device = self.scores.device
        cells = alive.flatten().nonzero().squeeze(1).to(device)
        grid = self.select(words.to(device))
        row, action = grid.row.flatten()[cells], grid.action.flatten()[cells]
        return replace(grid, row=numbers.to(device)), row, action
