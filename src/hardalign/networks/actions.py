"""The oracle of a pointer: the actions of pairs' alignments (see ``hardalign.aligner``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign import aligner
from hardalign.aligner import align_actions, aligner_pair
from hardalign.data.vocabulary import END, Encoded
from hardalign.networks.batch import Batch, pad

CACHED_PAIRS = 1 << 18
"""Pairs whose actions are remembered, so that scoring an endless stream takes bounded memory."""


def pointers(actions: Tensor, step: int) -> Tensor:
    """Returns where the pointer is when each of ``actions`` [B, K] is chosen, [B, K]."""
    stepped = (actions == step).long().cumsum(1)
    return F.pad(stepped[:, :-1], (1, 0))


class Oracle(nn.Module):
    """Aligns pairs without supervision, and gives the actions of their best alignments."""

    table: Tensor
    """The aligner's log-probabilities, part of the model's state: scores depend on them."""

    def __init__(self, source_letters: int, target_letters: int) -> None:
        super().__init__()
        self._sizes = (source_letters + 1, target_letters + 1)  # unknown letters have a number, 0
        self.step = END + target_letters + 1
        self.register_buffer("table", _stored(aligner.fit([], *self._sizes, iterations=0)))
        # By the letters of source and target, on which alone an alignment depends.
        self._cache: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
        self.register_load_state_dict_post_hook(_forget)  # type: ignore[no-untyped-call]

    def fit(self, pairs: Sequence[Encoded]) -> None:
        """Learns to align from pairs, and remembers how to align them."""
        self.table.copy_(_stored(aligner.fit([aligner_pair(p) for p in pairs], *self._sizes)))
        self._cache.clear()
        self._actions(pairs)

    def forward(self, batch: Batch) -> Tensor:
        """Returns actions [B, K] of pairs; J letters and I target symbols have J + I + 2."""
        sources = zip(batch.source.tolist(), batch.source_lengths.tolist(), strict=True)
        targets = zip(batch.target.tolist(), batch.target_lengths.tolist(), strict=True)
        rows = zip(sources, batch.tag_counts.tolist(), targets, strict=True)
        pairs = [Encoded(x[:j], tags, y[:i]) for (x, j), tags, (y, i) in rows]
        return pad(self._actions(pairs))[0].to(batch.source.device)

    def _actions(self, pairs: Sequence[Encoded]) -> list[list[int]]:
        """Returns the actions of pairs; aligns whatever is not remembered, all at once."""
        if len(self._cache) > CACHED_PAIRS:
            self._cache = {}
        # Other threads may forget everything meanwhile: what they leave behind stays whole.
        cache = self._cache
        keys = [(tuple(p.source[1 + p.tags : -1]), tuple(p.target[:-1])) for p in pairs]
        new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in cache}
        actions = align_actions(self.table.cpu().numpy(), list(new.values()), self.step)
        cache.update(zip(new, actions, strict=True))
        return [cache[key] for key in keys]


def _stored(table: aligner.Floats) -> Tensor:
    """Returns a table for a buffer: in every device's precision, its one infinity left out."""
    stored = torch.from_numpy(table).to(torch.float32)
    stored[0, 0] = 0.0  # never read
    return stored


def _forget(oracle: nn.Module, _: Any) -> None:
    """Forgets alignments: those of other weights, and so of another table, may differ."""
    assert isinstance(oracle, Oracle)
    oracle._cache.clear()
