"""Oracle actions: an alignment told as what a pointer does (Aharoni & Goldberg 2017).

A pointer walks over the source from its begin symbol, position 0, past its letters, from position
1 on, to its end symbol. An action is a symbol, written while the pointer stays, or STEP, which
moves the pointer one to the right, or END. STEP is one more number after the target's symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign import aligner
from hardalign.actions import oracle_actions
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import END
from hardalign.networks.batch import Batch, pad

CACHED_PAIRS = 1 << 18
"""Pairs whose actions are remembered, so that scoring an endless stream takes bounded memory."""

Key = tuple[tuple[int, ...], tuple[int, ...]]
"""The letters of a source and of a target: what an alignment depends on."""


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
        self._cache: dict[Key, list[int]] = {}
        self.register_load_state_dict_post_hook(_forget)  # type: ignore[no-untyped-call]

    def fit(self, pairs: Iterable[Encoded]) -> None:
        """Learns to align from pairs, and remembers how to align them."""
        keys = [_key(pair.source, pair.tags, pair.target) for pair in pairs]
        self.table.copy_(_stored(aligner.fit([_aligned(key) for key in keys], *self._sizes)))
        self._cache.clear()
        self._actions(keys)

    def forward(self, batch: Batch) -> Tensor:
        """Returns actions [B, K] of pairs; J letters and I target symbols have J + I + 2."""
        sources = zip(batch.source.tolist(), batch.source_lengths.tolist(), strict=True)
        targets = zip(batch.target.tolist(), batch.target_lengths.tolist(), strict=True)
        rows = zip(sources, batch.tag_counts.tolist(), targets, strict=True)
        keys = [_key(x[:j], tags, y[:i]) for (x, j), tags, (y, i) in rows]
        return pad(self._actions(keys))[0].to(batch.source.device)

    def _actions(self, keys: Sequence[Key]) -> list[list[int]]:
        """Aligns whatever is not remembered, all at once."""
        if len(self._cache) > CACHED_PAIRS:
            self._cache = {}
        # Other threads may forget everything meanwhile: what they leave behind stays whole.
        cache = self._cache
        new = [key for key in dict.fromkeys(keys) if key not in cache]
        paths = aligner.align(self.table.cpu().numpy(), [_aligned(key) for key in new])
        for key, path in zip(new, paths, strict=True):
            cache[key] = oracle_actions(path, key[1], self.step)
        return [cache[key] for key in keys]


def _key(source: Sequence[int], tags: int, target: Sequence[int]) -> Key:
    """The letters alone, without begin, tags and end."""
    return tuple(source[1 + tags : -1]), tuple(target[:-1])


def _aligned(key: Key) -> aligner.Pair:
    """A pair in the aligner's numbers: unknown letters are 0, the others count from 1."""
    x, y = ([max(0, number - END) for number in side] for side in key)
    return x, y


def _stored(table: aligner.Floats) -> Tensor:
    """A table for a buffer: in the precision every device has, its one infinity left out."""
    stored = torch.from_numpy(table).to(torch.float32)
    stored[0, 0] = 0.0  # never read
    return stored


def _forget(oracle: nn.Module, _: Any) -> None:
    """Other weights, another table: what it aligned before may align differently now."""
    assert isinstance(oracle, Oracle)
    oracle._cache.clear()
