"""Rare symbols, which training reads as unknown now and then, so that unknown ones mean something.

Every symbol of the training data is known, so that the embedding of what is unknown would never be
learned: a word with a new letter would be read with a random vector in it. Here a symbol that
occurs once is read as unknown with a given probability, and one that occurs c times with that
probability divided by √c. What is written is not changed by it, nor what can be copied, and tags
are always read as what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Literal

import torch
from torch import Tensor, nn

from hardalign.data.vocabulary import RESERVED, UNKNOWN, Encoded


class RareDropout(nn.Module):
    """Reads rare symbols as unknown, at random, in training alone."""

    rates: Tensor
    """[symbols] how often each is read as unknown."""

    def __init__(self, side: Literal["source", "target"], symbols: int, rate: float) -> None:
        """Makes a dropout that leaves all as it is until ``count`` knows what is rare.

        Args:
            side: Of the pairs whose symbols it is for.
            symbols: How many numbers there are.
            rate: How often a symbol is read as unknown that occurs once.
        """
        super().__init__()
        self.side, self.rate = side, rate
        # They follow from the training data, so they are no part of the model's weights.
        self.register_buffer("rates", torch.zeros(symbols), persistent=False)

    def count(self, pairs: Sequence[Encoded]) -> None:
        """Counts the letters of the training pairs."""
        if self.side == "source":
            strings = (pair.source[1 + pair.tags :] for pair in pairs)
        else:
            strings = (pair.target for pair in pairs)
        numbers = torch.tensor(list(chain.from_iterable(strings)), dtype=torch.long)
        counts = torch.bincount(numbers, minlength=len(self.rates))
        counts[:RESERVED] = 0
        self.rates.copy_(torch.where(counts > 0, self.rate / counts.sqrt(), 0.0))

    def forward(self, symbols: Tensor) -> Tensor:
        """Returns symbols [...] of which rare ones have become unknown."""
        if not self.training or not self.rate:
            return symbols
        noise = torch.rand(symbols.shape, device=symbols.device)
        return symbols.masked_fill(noise < self.rates[symbols], UNKNOWN)
