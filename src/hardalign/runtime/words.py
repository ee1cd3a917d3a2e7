"""Strings as arrays of numbers, padded to the longest of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hardalign.data.vocabulary import BEGIN, END, PAD, Encoded
from hardalign.runtime.numbers import Bools, Ints


@dataclass(frozen=True)
class Words:
    """The source words of a batch."""

    symbols: Ints
    """[B, J] begin, tags, letters, end, padding."""
    lengths: Ints
    """[B]"""
    tag_counts: Ints
    """[B] how many of a word's symbols are tags."""

    @classmethod
    def of(cls, sources: Sequence[Encoded]) -> Words:
        """Puts source words side by side."""
        symbols, lengths = pad([source.source for source in sources])
        return cls(symbols, lengths, np.array([source.tags for source in sources], np.intp))

    @cached_property
    def present(self) -> Bools:
        """[B, J] true at symbols, false at padding."""
        return np.arange(self.symbols.shape[1]) < self.lengths[:, None]

    def __len__(self) -> int:
        return len(self.lengths)

    def letters_only(self) -> Words:
        """Returns the words without their tags: begin, letters, end, padding."""
        lengths = self.lengths - self.tag_counts
        position = np.arange(int(lengths.max(initial=0)))
        columns = source_columns(position, self.tag_counts[:, None])
        columns = np.minimum(columns, self.lengths[:, None] - 1)
        symbols = np.take_along_axis(self.symbols, columns, 1)
        symbols = np.where(position < lengths[:, None], symbols, PAD)
        return Words(symbols, lengths, np.zeros_like(lengths))

    def count_tags(self, first: int, tags: int) -> Ints:
        """Returns how often a word has each tag, [B, tags]; unknown ones count nothing.

        Args:
            first: The number of the first tag.
            tags: How many tags there are.
        """
        column = np.arange(self.symbols.shape[1])
        number = self.symbols - first
        word, place = np.nonzero((column <= self.tag_counts[:, None]) & (number >= 0))
        counts = np.zeros((len(self), tags), np.intp)
        np.add.at(counts, (word, number[word, place]), 1)
        return counts


def source_columns(position: Ints, tag_counts: Ints) -> Ints:
    """Returns the columns of a batch that positions among begin, letters and end have there."""
    return np.asarray(position + np.where(position > 0, tag_counts, 0))


@dataclass(frozen=True)
class Targets:
    """Given target strings, each of one of the words of a batch."""

    word: Ints
    """[P] the word that each target belongs to."""
    symbols: Ints
    """[P, I] letters, end, padding."""
    lengths: Ints
    """[P]"""

    @classmethod
    def of(cls, word: Sequence[int], targets: Sequence[Sequence[int]]) -> Targets:
        """Puts targets side by side; each ends with END."""
        symbols, lengths = pad(targets)
        return cls(np.array(word, np.intp), symbols, lengths)

    def at(self, step: int) -> Targets:
        """Returns one step of the targets, as targets of one symbol or none."""
        lengths = np.clip(self.lengths - step, 0, 1)
        return Targets(self.word, self.symbols[:, step : step + 1], lengths)

    @cached_property
    def steps(self) -> Bools:
        """[P, I] true at symbols, false at padding."""
        return np.arange(self.symbols.shape[1]) < self.lengths[:, None]

    @cached_property
    def previous(self) -> Ints:
        """[P, I] the symbol before each symbol, BEGIN at first."""
        shifted = np.full_like(self.symbols, BEGIN)
        shifted[:, 1:] = self.symbols[:, :-1]
        return shifted

    @cached_property
    def classes(self) -> Ints:
        """[P, I] columns of an output layer, which begins with END; any at padding."""
        return np.maximum(self.symbols - END, 0)


def pad(rows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Returns rows of numbers as one array [B, longest], and their lengths [B]."""
    lengths = np.array([len(row) for row in rows], np.intp)
    padded = np.full((len(rows), int(lengths.max(initial=0))), PAD, np.intp)
    for place, row in zip(padded, rows, strict=True):
        place[: len(row)] = row
    return padded, lengths
