"""What our speed is compared with: the same two models, written as they usually are.

One decoder step at a time, batches of any lengths, packed sequences in the encoder; hard attention
applies S and W to every (step, position) pair and lets autograd find its own way back.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import BEGIN, PAD, Vocabulary
from hardalign.systems.network import Batch


class Stepwise(nn.Module):
    """The paper's `hard` and `soft`, with the same parameters as ours."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, hard: bool) -> None:
        super().__init__()
        e, h = config.embedding, config.decoder
        encoded = 2 * config.encoder
        self.hard = hard
        self.source = nn.Embedding(len(vocabulary.source), e, padding_idx=PAD)
        self.target = nn.Embedding(len(vocabulary.target), e, padding_idx=PAD)
        self.encoder = nn.LSTM(e, config.encoder, bidirectional=True, batch_first=True)
        self.cell = nn.LSTMCell(e, h)
        self.score = nn.Linear(encoded, h)
        self.combine = nn.Linear(h + encoded, h + encoded)
        self.output = nn.Linear(h + encoded, len(vocabulary.target))
        self.dropout = nn.Dropout(config.dropout)

    def loss(self, batch: Batch) -> Tensor:
        """[B] −log p(y | x)."""
        packed = pack_padded_sequence(
            self.dropout(self.source(batch.source)),
            batch.source_lengths,
            batch_first=True,
            enforce_sorted=False,
        )
        states, _ = pad_packed_sequence(self.encoder(packed)[0], batch_first=True)  # [B, J, 2H]
        padding = batch.source == PAD
        h = c = states.new_zeros(len(batch), self.cell.hidden_size)
        previous = torch.full_like(batch.target[:, 0], BEGIN)
        total = states.new_zeros(len(batch))
        for position in range(batch.target.shape[1]):
            wanted = batch.target[:, position]
            h, c = self.cell(self.dropout(self.target(previous)), (h, c))
            log_probs = self.step(self.dropout(h), states, padding)
            chosen = log_probs.gather(1, wanted.unsqueeze(1)).squeeze(1)
            total = total + chosen.masked_fill(wanted == PAD, 0.0)
            previous = wanted
        return -total

    def step(self, h: Tensor, states: Tensor, padding: Tensor) -> Tensor:
        """[B, V] log p of the next symbol."""
        scores = (self.score(states) @ h.unsqueeze(2)).squeeze(2)
        log_alpha = scores.masked_fill(padding, -torch.inf).log_softmax(-1)  # [B, J]
        if not self.hard:
            context = (log_alpha.exp().unsqueeze(1) @ states).squeeze(1)
            joint = self.combine(torch.cat([h, context], -1)).tanh()
            return self.output(joint).log_softmax(-1)
        repeated = h.unsqueeze(1).expand(-1, states.shape[1], -1)
        joint = self.combine(torch.cat([repeated, states], -1)).tanh()  # [B, J, d_s]
        emission = self.output(joint).log_softmax(-1)
        return (emission + log_alpha.unsqueeze(-1)).logsumexp(1)
