"""The target side: an LSTM over y_<i, a language model of the output (paper, section 4.3)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.data.vocabulary import BEGIN, PAD


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
        """Returns states [B, I, hidden] before each symbol of ``target`` [B, I] is produced."""
        previous = F.pad(target[:, :-1], (1, 0), value=BEGIN)
        states, _ = self.lstm(self.dropout(self.embedding(previous)))
        return self.dropout(states)  # type: ignore[no-any-return]
