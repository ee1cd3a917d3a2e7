"""Hard monotonic attention: a pointer that only moves right (paper, section 8.2, system M).

The decoder reads the source symbol under the pointer and chooses an action: write a symbol, or
STEP to the next position, or end. It is trained on the actions of a character aligner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as F

from hardalign.data.batching import Batch, Encoded
from hardalign.data.vocabulary import BEGIN, END, PAD
from hardalign.models.actions import Oracle, pointers
from hardalign.models.decoder import Hidden
from hardalign.models.encoder import Encoder
from hardalign.models.pointer import PointerDecoder, TagFeatures
from hardalign.models.rows import Rows
from hardalign.models.transducer import Step, Transducer
from hardalign.models.unfed import within


@dataclass(frozen=True)
class PointerState(Rows):
    """The source words without their tags, and how far decoding has come."""

    states: Tensor
    """[N, J, 2·hidden] of begin, letters, end, padding: as wide as the batch with its tags."""
    last: Tensor
    """[N] the position of the end symbol."""
    tag_counts: Tensor
    """[N] how far to the right of their positions the batch has the letters."""
    features: Tensor
    """[N, embedding] the tags, or [N, 0]."""
    pointer: Tensor
    """[N]"""
    hidden: Hidden


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
        """Learn to align the training pairs."""
        self.oracle.fit(pairs)

    def log_likelihood(self, batch: Batch) -> Tensor:
        """[B] log-probability of the oracle's actions, in nats.

        A string can be written by many sequences of actions, so this is a lower bound of
        log p(y | x), tight where the model is sure of when to step.
        """
        actions = self.oracle(batch)  # [B, K]
        position = pointers(actions, self.oracle.step)
        letters, last = _letters(batch)
        longest = int(last.max()) + 1  # no time is spent on what the tags left free
        states = self.encoder(letters[:, :longest], last + 1)
        attended = states.gather(1, position.unsqueeze(-1).expand(-1, -1, states.shape[-1]))
        features = self._features(batch).unsqueeze(1).expand(-1, actions.shape[1], -1)
        log_probs, _ = self.decoder(
            F.pad(actions[:, :-1], (1, 0), value=BEGIN),
            torch.cat([attended, features], -1),
            position == last.unsqueeze(1),
            self.decoder.begin(len(batch)),
        )  # [B, K, C]
        classes = (actions - END).clamp(min=0)
        chosen = log_probs.gather(-1, classes.unsqueeze(-1)).squeeze(-1)
        return chosen.masked_fill(actions == PAD, 0.0).sum(-1)  # type: ignore[no-any-return]

    def align(self, batch: Batch) -> Tensor:
        """[B, I, J] certain: where the oracle's pointer is when each symbol is written."""
        actions = self.oracle(batch)
        columns = _columns(pointers(actions, self.oracle.step), batch.tag_counts)
        row, k = ((actions != self.oracle.step) & (actions != PAD)).nonzero(as_tuple=True)
        weight = self.decoder.output.weight
        alignment = weight.new_zeros(*batch.target.shape, batch.source.shape[1])
        # The symbols of the batch are as many, in the same order.
        _, i = within(batch.target_lengths, batch.target.shape[1]).nonzero(as_tuple=True)
        alignment[row, i, columns[row, k]] = 1.0
        return alignment

    def begin(self, batch: Batch) -> PointerState:
        """Read the source words; every pointer is at its begin symbol."""
        letters, last = _letters(batch)
        states = self.encoder(letters, last + 1)
        hidden = self.decoder.begin(len(batch))
        pointer = torch.zeros_like(last)
        return PointerState(states, last, batch.tag_counts, self._features(batch), pointer, hidden)

    def step(self, state: Rows, previous: Tensor) -> Step:
        """What is written after ``previous`` [N], at the position where greedy STEPs lead.

        Each row takes STEPs as long as STEP is its best action. The log-probabilities include
        those of the STEPs taken and are thus of one way to write each symbol, not of all ways:
        they sum to less than 1. A greedy search over them is a greedy search over actions.
        """
        state = cast(PointerState, state)
        h, c, pointer = (t.clone() for t in (state.hidden.h, state.hidden.c, state.pointer))
        action = previous.clone()
        log_probs = state.states.new_zeros(len(action), self.oracle.step - END + 1)
        stepped = log_probs.new_zeros(len(action))  # log-probability of the STEPs taken
        rows = torch.arange(len(action), device=action.device)  # which rows are still under way
        for _ in range(state.states.shape[1]):
            at = pointer[rows]
            attended = torch.cat([state.states[rows, at], state.features[rows]], -1)
            at_end = (at == state.last[rows]).unsqueeze(1)
            hidden = Hidden(h[rows], c[rows])
            found, hidden = self.decoder(
                action[rows].unsqueeze(1), attended.unsqueeze(1), at_end, hidden
            )
            h[rows], c[rows] = hidden.h, hidden.c
            log_probs[rows] = found.squeeze(1) + stepped[rows].unsqueeze(1)
            rows = rows[found.squeeze(1).argmax(-1) == found.shape[-1] - 1]
            if not len(rows):
                break
            stepped[rows] = log_probs[rows, -1]
            pointer[rows] += 1
            action[rows] = self.oracle.step
        after = PointerState(
            state.states, state.last, state.tag_counts, state.features, pointer, Hidden(h, c)
        )
        columns = _columns(pointer.unsqueeze(1), state.tag_counts).squeeze(1)
        looked = F.one_hot(columns, state.states.shape[1]).to(log_probs.dtype)
        return Step(log_probs[:, :-1], looked, after)

    def _features(self, batch: Batch) -> Tensor:
        """[B, embedding] the tags, or nothing, [B, 0]."""
        embedding = self.encoder.embedding.weight
        if self.tags is None:
            return embedding.new_zeros(len(batch), 0)
        return self.tags(batch.source, batch.tag_counts, embedding)  # type: ignore[no-any-return]


def _letters(batch: Batch) -> tuple[Tensor, Tensor]:
    """Source symbols [B, J] without the tags: begin, letters, end, padding; the end's place [B]."""
    position = torch.arange(batch.source.shape[1], device=batch.source.device)
    last = batch.source_lengths - 1 - batch.tag_counts
    columns = torch.minimum(
        _columns(position.expand_as(batch.source), batch.tag_counts),
        batch.source_lengths.unsqueeze(1) - 1,
    )
    beyond = position > last.unsqueeze(1)
    return batch.source.gather(1, columns).masked_fill(beyond, PAD), last


def _columns(position: Tensor, tag_counts: Tensor) -> Tensor:
    """The batch's columns of positions [B, K]: tags stand between begin and the first letter."""
    return position + torch.where(position > 0, tag_counts.unsqueeze(1), 0)
