"""Input feeding: how what attention saw enters the decoder's next step (paper, section 5.1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.data.vocabulary import PAD

Entrance = Callable[[int, Tensor], Tensor]
"""From a step's number i and the attentional vector c̄_{i-1} [N, d_s] to the LSTM's input."""
Hidden = list[tuple[Tensor, Tensor]]
"""The h and c [N, hidden] of each layer."""


class Feeding(nn.Module, ABC):
    """Joins e(y_{i-1}) and c̄_{i-1}."""

    joint: int
    """d_s, the width of c̄."""
    size: int
    """The width of the LSTM's input."""

    @abstractmethod
    def forward(self, embedded: Tensor) -> Entrance:
        """Does what does not wait for attention, for all steps at once: embeddings [N, I, d_e]."""


class Merged(Feeding):
    """A linear map of e(y_{i-1}) ⊕ c̄_{i-1} to d_e, so that the LSTM stays as it is."""

    def __init__(self, embedding: int, joint: int) -> None:
        super().__init__()
        self.merge = nn.Linear(embedding + joint, embedding)
        self.joint = joint
        self.size = embedding

    def forward(self, embedded: Tensor) -> Entrance:
        """Maps the embeddings; the other half of the map waits for attention."""
        split = embedded.shape[2]
        parts = F.linear(embedded, self.merge.weight[:, :split], self.merge.bias).unbind(1)
        weight = self.merge.weight[:, split:].t()
        return lambda step, fed: torch.addmm(parts[step], fed, weight)


class Concatenated(Feeding):
    """e(y_{i-1}) ⊕ c̄_{i-1} as it is: a wider LSTM."""

    def __init__(self, embedding: int, joint: int) -> None:
        super().__init__()
        self.joint = joint
        self.size = embedding + joint

    def forward(self, embedded: Tensor) -> Entrance:
        """Leaves the embeddings to wait for attention."""
        parts = embedded.unbind(1)
        return lambda step, fed: torch.cat([parts[step], fed], 1)


class FedDecoder(nn.Module):
    """An LSTM over y_<i and c̄_<i, one step at a time; starts from zeros."""

    def __init__(
        self,
        symbols: int,
        embedding: int,
        feeding: Feeding,
        hidden: int,
        layers: int,
        dropout: float,
        symbol_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, embedding, padding_idx=PAD)
        self.feeding = feeding
        # Cells, not nn.LSTM: for a single step that is twice as slow on a CPU.
        sizes = [feeding.size] + [hidden] * (layers - 1)
        self.cells = nn.ModuleList(nn.LSTMCell(size, hidden) for size in sizes)
        self.dropout = nn.Dropout(dropout)
        self.symbol_dropout = nn.Dropout1d(symbol_dropout)  # of whole embeddings
        self.hidden = hidden

    def begin(self, rows: int) -> tuple[Hidden, Tensor]:
        """Returns the zero state, and c̄_0 [rows, d_s], zero as well."""
        zeros = self.embedding.weight.new_zeros
        state = zeros(rows, self.hidden)
        return [(state, state)] * len(self.cells), zeros(rows, self.feeding.joint)

    def read(self, previous: Tensor) -> Entrance:
        """Embeds the symbols before each step, [N, I], all at once."""
        embedded = self.symbol_dropout(self.embedding(previous))
        entrance: Entrance = self.feeding(self.dropout(embedded))
        return entrance

    def step(self, state: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:
        """Returns the state [N, hidden] after one more input [N, size], and the memory."""
        after: Hidden = []
        for cell, before in zip(self.cells, hidden, strict=True):
            after.append(cell(state, before))
            state = self.dropout(after[-1][0])
        return state, after
