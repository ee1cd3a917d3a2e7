"""The target side: an LSTM over y_<i, a language model of the output (paper, section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.data.vocabulary import BEGIN, PAD
from hardalign.networks.rows import Rows


@dataclass(frozen=True)
class Hidden(Rows):
    """The LSTM's memory between steps."""

    h: Tensor
    """[N, layers, hidden]"""
    c: Tensor
    """[N, layers, hidden]"""


class Decoder(nn.Module):
    """Summarises the symbols produced so far; starts from a zero state."""

    def __init__(
        self, symbols: int, embedding: int, hidden: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, embedding, padding_idx=PAD)
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(embedding, hidden, layers, batch_first=True, dropout=between)
        self.dropout = nn.Dropout(dropout)

    def forward(self, target: Tensor) -> Tensor:
        """States [B, I, hidden] before each symbol of ``target`` [B, I] is produced."""
        previous = F.pad(target[:, :-1], (1, 0), value=BEGIN)
        states, _ = self.lstm(self.dropout(self.embedding(previous)))
        return self.dropout(states)  # type: ignore[no-any-return]

    def begin(self, batch_size: int) -> Hidden:
        """The zero state."""
        shape = (batch_size, self.lstm.num_layers, self.lstm.hidden_size)
        zero = self.embedding.weight.new_zeros(shape)
        return Hidden(zero, zero)

    def step(self, previous: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:
        """State [N, hidden] after reading one more symbol ``previous`` [N]."""
        before = (hidden.h.transpose(0, 1).contiguous(), hidden.c.transpose(0, 1).contiguous())
        states, (h, c) = self.lstm(self.dropout(self.embedding(previous.unsqueeze(1))), before)
        return self.dropout(states.squeeze(1)), Hidden(h.transpose(0, 1), c.transpose(0, 1))
