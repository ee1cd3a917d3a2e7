"""Systems with input feeding: what attention sees at a step, the next step reads (section 5.1).

They cannot read a whole target at once. The loop holds only what waits for the step before;
embeddings, projections of the source and the output layer are computed for all steps together.
A pair can be followed several times, each time feeding back something else: its particles.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.data.vocabulary import BEGIN
from hardalign.networks.attention import Attention, Reading
from hardalign.networks.batch import Batch
from hardalign.networks.encoder import Encoder
from hardalign.networks.feeding import FedDecoder
from hardalign.networks.transducer import Transducer

Rule = Callable[[int, Tensor, Tensor], Tensor]
"""Says what is fed back: from a step's number i, log α(i) [B, k, J] and the decoder half of
S(h ⊕ e) [B, k, d_s] of k particles to the weights [B, k, J] of the source states that are mixed."""


@dataclass(frozen=True)
class Trace:
    """What happened at the steps of k particles of each pair."""

    log_alpha: Tensor
    """[B, I, k, J]"""
    query: Tensor
    """[B, I, k, d_s] the decoder half of S(h ⊕ e)."""
    weights: Tensor
    """[B, I, k, J] of the source states that were mixed and fed back."""
    joint: Tensor
    """[B, I, k, d_s] c̄_i = f(h_i, c_i), where c_i is that mix."""


class FedHead(Protocol):
    """Decides where the weights α go, and what is fed back when decoding; a module."""

    @property
    def attention(self) -> Attention:
        """T, S and W."""

    def rule(self, reading: Reading) -> Rule:
        """Returns what is fed back when scoring and decoding, where nothing is left to chance."""

    def log_likelihood(self, trace: Trace, reading: Reading) -> Tensor:
        """Returns log p(y_i | y_<i, x) [B, I, k] of each particle; 0 at padding steps."""


AnyHead = TypeVar("AnyHead", bound=FedHead)
"""The kind of head that an objective can train."""


class FedObjective(nn.Module, ABC, Generic[AnyHead]):
    """What training minimises."""

    def __init__(self, samples: int = 1) -> None:
        """Makes an objective; ``samples`` is k, how many particles a pair has."""
        super().__init__()
        self.samples = samples

    @abstractmethod
    def rule(self, head: AnyHead, reading: Reading) -> Rule:
        """Returns what is fed back in training."""

    @abstractmethod
    def forward(self, head: AnyHead, trace: Trace, reading: Reading) -> Tensor:
        """Returns a loss for each pair [B]."""


class FedLikelihood(FedObjective[FedHead]):
    """Minus the log-likelihood, exact."""

    def rule(self, head: FedHead, reading: Reading) -> Rule:
        """Returns the head's own rule."""
        return head.rule(reading)

    def forward(self, head: FedHead, trace: Trace, reading: Reading) -> Tensor:
        """Returns −log p(y | x) [B]."""
        return -head.log_likelihood(trace, reading).sum((1, 2))


class FedTransducer(Transducer, Generic[AnyHead]):
    """Encoder, input-fed decoder, a head and an objective."""

    def __init__(
        self, encoder: Encoder, decoder: FedDecoder, head: AnyHead, objective: FedObjective[AnyHead]
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.head = head
        self.objective = objective

    def symbol_log_likelihood(self, batch: Batch) -> Tensor:
        """Returns log p(y_i | y_<i, x) [B, I]: exact (soft), or by the decoding rule (hard)."""
        reading = Reading.of(batch, self.encoder, self.head.attention)
        trace = self.follow(batch.target, reading, self.head.rule(reading))
        return self.head.log_likelihood(trace, reading).squeeze(2)

    def loss(self, batch: Batch) -> Tensor:
        """Returns what the objective makes of the pairs [B]."""
        reading = Reading.of(batch, self.encoder, self.head.attention)
        rule = self.objective.rule(self.head, reading)
        trace = self.follow(batch.target, reading, rule, self.objective.samples)
        losses: Tensor = self.objective(self.head, trace, reading)
        return losses

    def follow(self, target: Tensor, reading: Reading, rule: Rule, particles: int = 1) -> Trace:
        """Follows ``target`` [B, I] symbol by symbol with k particles, feeding back by a rule."""
        attention, memory = self.head.attention, reading.memory
        apart = (len(target), particles, -1)  # [B, k, …] for attention, [B·k, …] for the LSTM
        previous = F.pad(target[:, :-1], (1, 0), value=BEGIN).repeat_interleave(particles, 0)
        enter = self.decoder.read(previous)
        hidden, fed = self.decoder.begin(len(previous))
        # Cut from S once: the gradient of a cut is as large as S, and would be so at every step.
        weight = attention.combine.weight[:, : self.decoder.hidden].t()
        steps: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
        for i in range(previous.shape[1]):
            decoded, hidden = self.decoder.step(enter(i, fed), hidden)  # [B·k, hidden]
            log_alpha = attention.log_alpha(decoded.view(apart), memory)  # [B, k, J]
            query = torch.addmm(attention.combine.bias, decoded, weight).view(apart)
            weights = rule(i, log_alpha, query)
            joint = torch.baddbmm(query, weights, memory.output_key).tanh()  # [B, k, d_s]
            fed = joint.flatten(0, 1)
            steps.append((log_alpha, query, weights, joint))
        return Trace(*(torch.stack(column, 1) for column in zip(*steps, strict=True)))
