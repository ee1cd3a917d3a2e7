"""From a model to strings, through ``begin`` and ``step`` alone."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hardalign.data.batching import Batch
from hardalign.data.vocabulary import BEGIN, END
from hardalign.models.transducer import Transducer

LENGTH_LIMIT = 4
"""A search stops at this many times the source length, begin and end symbols included."""


@dataclass(frozen=True)
class Hypothesis:
    """A target string that a search found."""

    symbols: list[int]
    """Numbers of its letters, without the end."""
    log_prob: float
    """log p(y | x), end included."""
    finished: bool
    """False where the length limit cut it off before the model produced an end."""
    alignment: Tensor
    """[len(symbols) + 1 or less, J] where the model looked at each step, the end's included."""


@torch.inference_mode()
def greedy(model: Transducer, batch: Batch) -> list[Hypothesis]:
    """The most probable next symbol at every step, for a batch of source words.

    Words that are finished leave the batch, so that no work is spent on them, and the host waits
    for the device once per step.
    """
    device = batch.source.device
    limits = LENGTH_LIMIT * batch.source_lengths  # [B]
    longest = int(limits.max())
    size, width = batch.source.shape
    chosen = torch.zeros(size, longest, dtype=torch.long, device=device)  # classes; 0 is the end
    looked = torch.zeros(size, longest, width, device=device)
    scores = torch.zeros(size, device=device, dtype=torch.float64)
    ended = torch.zeros(size, dtype=torch.bool, device=device)
    state = model.begin(batch)
    rows = torch.arange(size, device=device)  # which words are still in the batch
    previous = torch.full((size,), BEGIN, device=device)
    for position in range(longest):
        step = model.step(state, previous)
        best, choice = step.log_probs.max(-1)
        scores[rows] += best
        chosen[rows, position] = choice
        looked[rows, position] = step.alignment.float()
        ended[rows] = choice == 0
        live = ((choice != 0) & (position + 1 < limits[rows])).nonzero().squeeze(1)
        if not len(live):
            break
        state, previous = step.state, choice + END
        if len(live) < len(rows):
            rows, state, previous = rows[live], state.select(live), previous[live]
    return _hypotheses(chosen, looked, scores, ended, limits)


def _hypotheses(
    chosen: Tensor, looked: Tensor, scores: Tensor, ended: Tensor, limits: Tensor
) -> list[Hypothesis]:
    """Cut each row at its first end, or at its limit."""
    found = []
    looked = looked.cpu()
    columns = (chosen.tolist(), scores.tolist(), ended.tolist(), limits.tolist())
    for row, (classes, score, finished, limit) in enumerate(zip(*columns, strict=True)):
        length = classes.index(0) if finished else limit
        symbols = [number + END for number in classes[:length]]
        found.append(Hypothesis(symbols, score, finished, looked[row, : length + finished]))
    return found
