"""Hard monotonic attention: a pointer that only moves right (paper, section 8.2, system M).

The decoder reads the source symbol under the pointer and chooses an action: write a symbol, or
STEP to the next position, or end. It is trained on the actions of a character aligner.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.data.vocabulary import BEGIN, END, PAD, Encoded
from hardalign.networks.actions import Oracle, pointers
from hardalign.networks.batch import Batch, without_tags
from hardalign.networks.encoder import Encoder
from hardalign.networks.transducer import Transducer


class PointerDecoder(nn.Module):
    """An LSTM over actions and the source states they were chosen at."""

    def __init__(
        self,
        actions: int,
        embedding: int,
        attended: int,
        hidden: int,
        layers: int,
        dropout: float,
        symbol_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(actions, embedding, padding_idx=PAD)
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(embedding + attended, hidden, layers, batch_first=True, dropout=between)
        self.dropout = nn.Dropout(dropout)
        self.symbol_dropout = nn.Dropout1d(symbol_dropout)  # of whole embeddings
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
        embedded = self.dropout(self.symbol_dropout(self.embedding(previous)))
        states, _ = self.lstm(torch.cat([embedded, attended], -1))
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


class MonotonicTransducer(Transducer):
    """Encoder, decoder, an oracle to learn the actions from and, with tags, their features."""

    def __init__(
        self, encoder: Encoder, decoder: PointerDecoder, oracle: Oracle, tags: TagFeatures | None
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.oracle = oracle
        self.tags = tags

    def prepare(self, pairs: Sequence[Encoded]) -> None:
        """Learns to align the training pairs."""
        self.oracle.fit(pairs)

    def symbol_log_likelihood(self, batch: Batch) -> Tensor:
        """Returns log-probabilities [B, I] of the oracle's actions: of each symbol and its STEPs.

        A string can be written by many sequences of actions, so the sum is a lower bound of
        log p(y | x), tight where the model is sure of when to step.
        """
        actions = self.oracle(batch)  # [B, K]
        position = pointers(actions, self.oracle.step)
        letters = without_tags(batch)
        last = letters.source_lengths - 1
        states = self.encoder(letters.source, letters.source_lengths)
        attended = states.gather(1, position.unsqueeze(-1).expand(-1, -1, states.shape[-1]))
        features = self._features(batch).unsqueeze(1).expand(-1, actions.shape[1], -1)
        log_probs = self.decoder(
            F.pad(actions[:, :-1], (1, 0), value=BEGIN),
            torch.cat([attended, features], -1),
            position == last.unsqueeze(1),
        )  # [B, K, C]
        classes = (actions - END).clamp(min=0)
        chosen = log_probs.gather(-1, classes.unsqueeze(-1)).squeeze(-1)
        chosen = chosen.masked_fill(actions == PAD, 0.0)
        written = (actions != self.oracle.step).long().cumsum(1)
        symbol = F.pad(written[:, :-1], (1, 0)).clamp(max=batch.target.shape[1] - 1)
        nothing: Tensor = chosen.new_zeros(batch.target.shape)
        return nothing.scatter_add(1, symbol, chosen)

    def _features(self, batch: Batch) -> Tensor:
        """Returns the tags as a vector [B, embedding], or nothing, [B, 0]."""
        embedding = self.encoder.embedding.weight
        if self.tags is None:
            return embedding.new_zeros(len(batch), 0)
        return self.tags(batch.source, batch.tag_counts, embedding)  # type: ignore[no-any-return]
