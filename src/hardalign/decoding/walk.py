"""Searches that follow one path per row: the best action at every step, or one drawn by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from hardalign.data.vocabulary import BEGIN, END
from hardalign.decoding.history import LENGTH_LIMIT, History, Hypothesis, limits
from hardalign.networks.batch import Batch
from hardalign.networks.rows import Rows
from hardalign.networks.transducer import Transducer

Choose = Callable[[Tensor, Tensor, int], Tensor]
"""From log-probabilities [N, V], the rows [N] they are of, and the number of the step to the
action that each row takes [N]."""


def greedy(model: Transducer, batch: Batch) -> list[Hypothesis]:
    """The most probable next action at every step, for a batch of source words."""
    with torch.inference_mode():
        return greedy_from(model.begin(batch), model, batch)


def greedy_from(state: Rows, model: Transducer, batch: Batch) -> list[Hypothesis]:
    """The same for a batch that has been read."""
    return _walk(state, model, batch, lambda log_probs, _rows, _step: log_probs.argmax(-1))


def sample(model: Transducer, batch: Batch, noise: Tensor) -> list[Hypothesis]:
    """One string for each source word, drawn from the model's distribution.

    Args:
        model: Whose actions are drawn one after the other; so are the silent ones.
        batch: Source words; to draw several strings for one, repeat it.
        noise: [B, steps] independent and uniform in [0, 1), one for each action.
    """

    def draw(log_probs: Tensor, rows: Tensor, step: int) -> Tensor:
        mass = log_probs.double().exp().cumsum(-1)
        # Ends at exactly 1, above all noise; what has no probability adds no mass to be hit.
        mass = mass / mass[:, -1:]
        return torch.searchsorted(mass, noise[rows, step].unsqueeze(1), right=True).squeeze(1)

    with torch.inference_mode():
        return _walk(model.begin(batch), model, batch, draw)


def noise(seeds: Sequence[Sequence[int]], batch: Batch) -> Tensor:
    """[B, steps] what ``sample`` needs: each row depends on its own seed alone, not on its mates.

    Args:
        seeds: Some numbers for each row, which together are its seed.
        batch: The source words of the rows.
    """
    # As many symbols as the limit has, and a silent action for every source symbol.
    steps = ((LENGTH_LIMIT + 1) * batch.source_lengths).tolist()
    rows = np.zeros((len(seeds), max(steps)))
    for row, seed, length in zip(rows, seeds, steps, strict=True):
        row[:length] = np.random.default_rng(seed).random(length)
    return torch.from_numpy(rows).to(batch.source.device)


def _walk(state: Rows, model: Transducer, batch: Batch, choose: Choose) -> list[Hypothesis]:
    """Follow what is chosen, step by step, to the end.

    Words that are finished leave the batch, so that no work is spent on them, and the host waits
    for the device once per step.
    """
    size, device = len(batch), batch.source.device
    limit = limits(batch)  # [B]
    history = History(model.silent)
    scores = torch.zeros(size, device=device, dtype=torch.float64)
    written = torch.zeros(size, dtype=torch.long, device=device)
    prefixes = torch.full((size,), -1, device=device)
    last = torch.full((size,), BEGIN, device=device)
    rows = torch.arange(size, device=device)  # which words are still in the batch
    position = 0
    while len(rows):
        step = model.step(state, last[rows])
        prefixes[rows] = history.visit(prefixes[rows], last[rows], step.alignment)
        choice = choose(step.log_probs, rows, position)
        scores[rows] += step.log_probs.gather(1, choice.unsqueeze(1)).squeeze(1)
        last[rows] = choice + END
        written[rows] += choice + END != model.silent
        live = ((choice != 0) & (written[rows] < limit[rows])).nonzero().squeeze(1)
        state = step.state if len(live) == len(rows) else step.state.select(live)
        rows = rows[live]
        position += 1
    return history.hypotheses(prefixes, last, scores)
