"""Source words and targets of a batch as padded arrays, for every engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hardalign.data.vocabulary import BEGIN, END, PAD, Encoded
from hardalign.systems.ops import Array, Ops


@dataclass(frozen=True)
class Words:
    """The source words of a batch."""

    symbols: Array  # [B, J] begin, tags, letters, end, padding
    lengths: Array  # [B]
    tag_counts: Array  # [B]

    @classmethod
    def of(cls, sources: Sequence[Encoded]) -> Words:
        """Pad source words, as NumPy arrays."""
        symbols, lengths = pad([source.source for source in sources])
        return cls(symbols, lengths, np.array([source.tags for source in sources], np.intp))

    def __len__(self) -> int:
        return len(self.lengths)

    def mask(self, xp: Ops) -> Array:
        """Return [B, J], false at padding."""
        return xp.arange(self.symbols.shape[1], self.symbols) < self.lengths[:, None]

    def letters_only(self, xp: Ops) -> Words:
        """Return the words without their tags: begin, letters, end, padding."""
        lengths = self.lengths - self.tag_counts
        position = xp.arange(lengths.max(), self.symbols)
        column = position + xp.where(position > 0, self.tag_counts[:, None], 0)  # [B, J']
        inside = position < lengths[:, None]
        letters = xp.take(self.symbols, xp.where(inside, column, 0), 1)
        return Words(xp.where(inside, letters, PAD), lengths, self.tag_counts * 0)

    def is_tag(self, xp: Ops) -> Array:
        """Return [B, J], true at tags."""
        column = xp.arange(self.symbols.shape[1], self.symbols)
        return (column > 0) & (column < self.tag_counts[:, None] + 1)

    def columns(self, xp: Ops) -> Array:
        """Return the index [B, J] of each symbol in ``letters_only``; −1 for tags."""
        position = xp.arange(self.symbols.shape[1], self.symbols)
        letter = xp.where(position > 0, position - self.tag_counts[:, None], 0)
        return xp.where(self.is_tag(xp), -1, letter)


@dataclass(frozen=True)
class Targets:
    """Target strings, each of one of the words of a batch."""

    word: Array | None  # [P] the word of each target; None where each word has one, in order
    symbols: Array  # [P, I] letters, end, padding
    lengths: Array  # [P]

    @classmethod
    def of(cls, word: Sequence[int] | None, targets: Sequence[Sequence[int]]) -> Targets:
        """Pad targets, each of which ends with END, as NumPy arrays."""
        symbols, lengths = pad(targets)
        return cls(None if word is None else np.array(word, np.intp), symbols, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def mask(self, xp: Ops) -> Array:
        """Return [P, I], false at padding."""
        return xp.arange(self.symbols.shape[1], self.symbols) < self.lengths[:, None]

    @cached_property
    def classes(self) -> Array:
        """[P, I] columns of the output layer, which begins with END; any at padding."""
        return (self.symbols - END).clip(0)


def previous_symbols(xp: Ops, symbols: Array) -> Array:
    """Return the symbol before each of the symbols [P, I]; BEGIN at first."""
    return xp.concatenate([symbols[:, :1] * 0 + BEGIN, symbols[:, :-1]], 1)


def pad(rows: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    """Return rows as one array [B, longest], and their lengths [B]."""
    lengths = np.array([len(row) for row in rows], np.intp)
    padded = np.full((len(rows), int(lengths.max(initial=0))), PAD, np.intp)
    for place, row in zip(padded, rows, strict=True):
        place[: len(row)] = row
    return padded, lengths
