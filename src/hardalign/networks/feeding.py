"""Input feeding: what attention saw is read by the next step (paper, section 5.1).

How it enters the decoder (merged or concatenated), and what it is (one head per kind of attention).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.data.vocabulary import PAD
from hardalign.networks.attention import Attention, Memory
from hardalign.networks.decoder import Hidden
from hardalign.networks.hard import HardHead
from hardalign.ops.reinforce import sample_positions

Entrance = Callable[[int, Tensor], Tensor]
"""From a step's number i and the attentional vector c̄_{i-1} [N, d_s] to the LSTM's input."""


class Merged(nn.Module):
    """A linear map of e(y_{i-1}) ⊕ c̄_{i-1} to d_e, so that the LSTM stays as it is."""

    def __init__(self, embedding: int, joint: int) -> None:
        super().__init__()
        self.merge = nn.Linear(embedding + joint, embedding)
        self.joint = joint
        self.size = embedding

    def forward(self, embedded: Tensor) -> Entrance:
        """What does not wait for attention, for all steps at once: embeddings [N, I, d_e]."""
        split = embedded.shape[2]
        parts = F.linear(embedded, self.merge.weight[:, :split], self.merge.bias).unbind(1)
        weight = self.merge.weight[:, split:].t()
        return lambda step, fed: torch.addmm(parts[step], fed, weight)


class Concatenated(nn.Module):
    """e(y_{i-1}) ⊕ c̄_{i-1} as it is: a wider LSTM."""

    def __init__(self, embedding: int, joint: int) -> None:
        super().__init__()
        self.joint = joint
        self.size = embedding + joint

    def forward(self, embedded: Tensor) -> Entrance:
        """The embeddings [N, I, d_e] wait for attention."""
        parts = embedded.unbind(1)
        return lambda step, fed: torch.cat([parts[step], fed], 1)


class FedDecoder(nn.Module):
    """An LSTM over y_<i and c̄_<i, one step at a time; starts from zeros."""

    def __init__(
        self,
        symbols: int,
        embedding: int,
        feeding: Merged | Concatenated,
        hidden: int,
        layers: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, embedding, padding_idx=PAD)
        self.feeding = feeding
        # Cells, not nn.LSTM: for a single step that is twice as slow on a CPU.
        sizes = [feeding.size] + [hidden] * (layers - 1)
        self.cells = nn.ModuleList(nn.LSTMCell(size, hidden) for size in sizes)
        self.dropout = nn.Dropout(dropout)
        self.hidden = hidden

    def begin(self, rows: int) -> tuple[Hidden, Tensor]:
        """The zero state, and c̄_0 [rows, d_s], zero as well."""
        zeros = self.embedding.weight.new_zeros
        state = zeros(rows, len(self.cells), self.hidden)
        return Hidden(state, state), zeros(rows, self.feeding.joint)

    def read(self, previous: Tensor) -> Entrance:
        """Embed the symbols before each step, [N, I], all at once."""
        entrance: Entrance = self.feeding(self.dropout(self.embedding(previous)))
        return entrance

    def step(self, state: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:
        """State [N, hidden] after one more input [N, size], and the memory behind it."""
        before = zip(hidden.h.unbind(1), hidden.c.unbind(1), strict=True)
        after = []
        for cell, (h, c) in zip(self.cells, before, strict=True):
            after.append(cell(state, (h, c)))
            state = self.dropout(after[-1][0])
        hs, cs = zip(*after, strict=True)
        return state, Hidden(torch.stack(hs, 1), torch.stack(cs, 1))


@dataclass(frozen=True)
class Trace:
    """What happened at the steps of a walk."""

    decoded: Tensor
    """[N, I, hidden] h_i"""
    log_alpha: Tensor
    """[N, I, J]"""
    weights: Tensor
    """[N, I, J] of the source states that were mixed and fed back."""
    joint: Tensor
    """[N, I, d_s] c̄_i = f(h_i, c_i), where c_i is that mix."""


class SoftFeedHead(nn.Module):
    """Soft attention: c̄_i is what the symbol is produced from, and what is fed back."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention

    def choose(self, log_alpha: Tensor) -> Tensor:
        """Feed back the mean of the source states under α."""
        return log_alpha.exp()

    def log_likelihood(self, trace: Trace, memory: Memory, target: Tensor, steps: Tensor) -> Tensor:  # noqa: ARG002
        """[N, I] log softmax(W c̄_i) at y_i; 0 at padding steps (eq. 8)."""
        return spoken(self.attention, trace.joint, target, steps)

    def log_probs(self, trace: Trace, memory: Memory) -> Tensor:  # noqa: ARG002
        """[N, V] the next symbol's log-probabilities after a walk of one step."""
        return logits(self.attention, trace.joint.squeeze(1)).log_softmax(-1)

    def align(self, trace: Trace, memory: Memory, target: Tensor, steps: Tensor) -> Tensor:  # noqa: ARG002
        """[N, I, J] the attention weights."""
        return trace.log_alpha.exp()


class HardFeedHead(nn.Module):
    """Hard attention: one position is fed back, yet what is produced is an exact mixture.

    The model's own p(y | x) sums over |x|^|y| alignments, each with a decoder of its own, which
    nobody can afford. To score and predict without chance there is this rule: feed back
    f(h_i, e_j) of the most probable position j = argmax α(i), and produce the symbol by

        p̃(y_i | y_<i, x) = Σ_j α_j(i) p(y_i | j, y_<i, x).

    p̃(y | x) = Π_i p̃(y_i | y_<i, x) is a proper distribution over strings: the probability of a
    string under this rule. It is neither log p(y | x) of the latent-variable model nor the bound
    that training raises.
    """

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.mixture = HardHead(attention)

    @property
    def attention(self) -> Attention:
        """T, S and W."""
        return self.mixture.attention

    def choose(self, log_alpha: Tensor) -> Tensor:
        """Feed back the most probable position."""
        return only(log_alpha.argmax(-1), log_alpha)

    def log_likelihood(self, trace: Trace, memory: Memory, target: Tensor, steps: Tensor) -> Tensor:
        """[N, I] log p̃(y_i | y_<i, x); 0 at padding steps."""
        return self.mixture.log_likelihood(trace.decoded, memory, target, steps)

    def log_probs(self, trace: Trace, memory: Memory) -> Tensor:
        """[N, V] log p̃ of the next symbol after a walk of one step."""
        return self.mixture.log_probs(trace.decoded.squeeze(1), memory)[0]

    def align(self, trace: Trace, memory: Memory, target: Tensor, steps: Tensor) -> Tensor:
        """[N, I, J] the posterior under p̃: α_j(i) p(y_i | j, y_<i, x), normalised."""
        return self.mixture.align(trace.decoded, memory, target, steps)


def drawn(log_alpha: Tensor) -> Tensor:
    """Feed back a position drawn from α."""
    return only(sample_positions(log_alpha), log_alpha)


def only(position: Tensor, log_alpha: Tensor) -> Tensor:
    """Weights [..., J], 1 at one position [...] and 0 elsewhere; of the other's type."""
    return F.one_hot(position, log_alpha.shape[-1]).to(log_alpha.dtype)


def logits(attention: Attention, joint: Tensor) -> Tensor:
    """[..., V] W c̄ + b."""
    return F.linear(joint, attention.output_weight, attention.output_bias)


def spoken(attention: Attention, joint: Tensor, target: Tensor, steps: Tensor) -> Tensor:
    """[N, I] log softmax(W c̄_i) at y_i; 0 at padding steps."""
    scores = logits(attention, joint)
    chosen = scores.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return (chosen - scores.logsumexp(-1)).masked_fill(~steps, 0.0)
