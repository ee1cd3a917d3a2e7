"""Systems with input feeding: what attention sees at a step, the next step reads (section 5.1).

They cannot read a whole target at once. The loop holds only what waits for the step before;
embeddings, projections of the source and the output layer are computed for all steps together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as F

from hardalign.data.vocabulary import BEGIN, END
from hardalign.networks.attention import Memory
from hardalign.networks.batch import Batch
from hardalign.networks.decoder import Hidden
from hardalign.networks.encoder import Encoder
from hardalign.networks.feeding import FedDecoder, HardFeedHead, SoftFeedHead, Trace, drawn, spoken
from hardalign.networks.rows import Rows
from hardalign.networks.sampled import SampledPaths
from hardalign.networks.transducer import Step, Transducer
from hardalign.networks.unfed import within

Choice = Callable[[Tensor], Tensor]
"""From log α(i) [N, 1, J] to the weights of the source states whose mix is fed back."""


@dataclass(frozen=True)
class FedState(Rows):
    """The source words, the decoder's memory and what attention saw last."""

    memory: Memory
    hidden: Hidden
    fed: Tensor
    """[N, d_s] c̄_{i-1}"""


class FedTransducer(Transducer):
    """Encoder, input-fed decoder and a head; trained by likelihood, or on sampled alignments."""

    def __init__(
        self,
        encoder: Encoder,
        decoder: FedDecoder,
        head: SoftFeedHead | HardFeedHead,
        objective: SampledPaths | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.head = head
        self.objective = objective

    def symbol_log_likelihood(self, batch: Batch) -> Tensor:
        """[B, I] log p(y_i | y_<i, x): exact (soft), or by ``HardFeedHead``'s rule (hard)."""
        return self.head.log_likelihood(*self._follow(batch))

    def align(self, batch: Batch) -> Tensor:
        """[B, I, J] attention weights (soft) or posterior by ``HardFeedHead``'s rule (hard)."""
        return self.head.align(*self._follow(batch))

    def loss(self, batch: Batch) -> Tensor:
        """[B] minus the log-likelihood, or minus the bound that the objective estimates."""
        if self.objective is None:
            return super().loss(batch)
        trace, _, classes, steps = self._follow(batch, drawn, self.objective.samples)
        rewards = spoken(self.head.attention, trace.joint, classes, steps)
        position = trace.weights.argmax(-1, keepdim=True)
        log_alpha = trace.log_alpha.gather(-1, position).squeeze(-1)
        losses: Tensor = self.objective(rewards, log_alpha, steps)
        return losses

    def begin(self, batch: Batch) -> FedState:
        """Read the source words."""
        return FedState(self._remember(batch), *self.decoder.begin(len(batch)))

    def step(self, state: Rows, previous: Tensor) -> Step:
        """The distribution of the symbol after ``previous`` [N]."""
        state = cast(FedState, state)
        trace, after = self._walk(state, previous.unsqueeze(1), self.head.choose)
        log_probs = self.head.log_probs(trace, state.memory)
        return Step(log_probs, trace.log_alpha.squeeze(1).exp(), after)

    def _remember(self, batch: Batch) -> Memory:
        states = self.encoder(batch.source, batch.source_lengths)
        present = within(batch.source_lengths, batch.source.shape[1])
        return self.head.attention.remember(states, present)

    def _follow(
        self, batch: Batch, choose: Choice | None = None, times: int = 1
    ) -> tuple[Trace, Memory, Tensor, Tensor]:
        """Walk along given targets, each several times: trace, source, classes, steps that count.

        Sources are encoded once however often their targets are followed.
        """
        state = self.begin(batch)
        target, lengths = batch.target, batch.target_lengths
        if times > 1:
            rows = torch.arange(len(batch), device=target.device).repeat_interleave(times)
            state, target, lengths = state.select(rows), target[rows], lengths[rows]
        previous = F.pad(target[:, :-1], (1, 0), value=BEGIN)
        trace, _ = self._walk(state, previous, choose or self.head.choose)
        classes = (target - END).clamp(min=0)  # padding steps count nowhere
        return trace, state.memory, classes, within(lengths, target.shape[1])

    def _walk(self, state: FedState, previous: Tensor, choose: Choice) -> tuple[Trace, FedState]:
        """Read ``previous`` [N, I] symbol by symbol, feeding back what ``choose`` chooses."""
        attention, memory, hidden, fed = self.head.attention, state.memory, state.hidden, state.fed
        enter = self.decoder.read(previous)
        # Cut from S once: the gradient of a cut is as large as S, and would be so at every step.
        weight = attention.combine.weight[:, : self.decoder.hidden].t()
        seen: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
        for i in range(previous.shape[1]):
            decoded, hidden = self.decoder.step(enter(i, fed), hidden)
            log_alpha = attention.log_alpha(decoded.unsqueeze(1), memory)  # [N, 1, J]
            weights = choose(log_alpha)
            query = torch.addmm(attention.combine.bias, decoded, weight).unsqueeze(1)
            joint = torch.baddbmm(query, weights, memory.output_key).tanh()  # [N, 1, d_s]
            fed = joint.squeeze(1)
            seen.append((decoded.unsqueeze(1), log_alpha, weights, joint))
        trace = Trace(*(torch.cat(column, 1) for column in zip(*seen, strict=True)))
        return trace, FedState(memory, hidden, fed)
