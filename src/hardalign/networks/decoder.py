"""The target side: an LSTM over y_<i, a language model of the output (paper, section 4.3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.data.vocabulary import BEGIN, PAD
from hardalign.networks.rare import RareDropout


class Decoder(nn.Module):
    """Summarises the symbols produced so far; starts from a zero state."""

    def __init__(
        self,
        symbols: int,
        embedding: int,
        hidden: int,
        layers: int,
        dropout: float,
        symbol_dropout: float = 0.0,
        rare_dropout: float = 0.0,
        tags: int = 0,
    ) -> None:
        """Makes a decoder; ``tags`` is the width of what it is told of a word's tags."""
        super().__init__()
        self.rare_dropout = RareDropout("target", symbols, rare_dropout)
        self.embedding = nn.Embedding(symbols, embedding, padding_idx=PAD)
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(embedding + tags, hidden, layers, batch_first=True, dropout=between)
        self.dropout = nn.Dropout(dropout)
        self.symbol_dropout = nn.Dropout1d(symbol_dropout)  # of whole embeddings

    def forward(self, target: Tensor, tags: Tensor | None = None) -> Tensor:
        """Returns states [B, I, hidden] before each symbol of ``target`` [B, I] is produced.

        Args:
            target: [B, I]
            tags: [B, tags] what is told of tags at every step.
        """
        previous = self.rare_dropout(F.pad(target[:, :-1], (1, 0), value=BEGIN))
        inputs = self.symbol_dropout(self.embedding(previous))
        if tags is not None:
            inputs = torch.cat([inputs, tags.unsqueeze(1).expand(-1, inputs.shape[1], -1)], -1)
        states, _ = self.lstm(self.dropout(inputs))
        return self.dropout(states)  # type: ignore[no-any-return]
