"""The source side: a bidirectional LSTM that is exact under padding (paper, section 4.1)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hardalign.data.vocabulary import PAD
from hardalign.networks.rare import RareDropout


class Encoder(nn.Module):
    """Embeds source symbols and reads them from both ends.

    PyTorch's bidirectional LSTM would start its backward direction in the padding; packed
    sequences avoid that but leave the fast CPU kernels. Here the backward direction is an LSTM of
    its own that reads every word reversed within its own length: one gather before, one after, and
    padding is never read before a word.
    """

    def __init__(
        self,
        symbols: int,
        embedding: int,
        hidden: int,
        layers: int,
        dropout: float,
        state_dropout: float = 0.0,
        rare_dropout: float = 0.0,
    ) -> None:
        """Makes an encoder; dropout is on what each layer reads, the other on what is returned."""
        super().__init__()
        self.rare_dropout = RareDropout("source", symbols, rare_dropout)
        self.embedding = nn.Embedding(symbols, embedding, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)
        self.state_dropout = nn.Dropout(state_dropout)
        sizes = [embedding] + [2 * hidden] * (layers - 1)
        self.forwards = nn.ModuleList(nn.LSTM(size, hidden, batch_first=True) for size in sizes)
        self.backwards = nn.ModuleList(nn.LSTM(size, hidden, batch_first=True) for size in sizes)

    def forward(self, source: Tensor, lengths: Tensor) -> Tensor:
        """Returns the states [B, J, 2·hidden] of source symbols [B, J]."""
        position = torch.arange(source.shape[1], device=source.device)  # [J]
        mirrored = lengths.unsqueeze(1) - 1 - position  # [B, J]
        mirrored = torch.where(mirrored >= 0, mirrored, position)
        row = torch.arange(source.shape[0], device=source.device).unsqueeze(1)  # [B, 1]
        states: Tensor = self.embedding(self.rare_dropout(source))
        for left_to_right, right_to_left in zip(self.forwards, self.backwards, strict=True):
            states = self.dropout(states)
            ahead, _ = left_to_right(states)
            back, _ = right_to_left(states[row, mirrored])
            states = torch.cat([ahead, back[row, mirrored]], dim=-1)
        return self.state_dropout(states)  # type: ignore[no-any-return]
