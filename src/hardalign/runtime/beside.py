"""Alignments of models whose attention sees no tags, in the columns that all others have.

The columns of a word are begin, tags, letters and end. A model with tags beside words looks at
begin, letters and end, and gives no weight to the columns of tags.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardalign.runtime.lattice import Lattice
from hardalign.runtime.numbers import Floats, Ints
from hardalign.runtime.words import Words, source_columns


@dataclass(frozen=True)
class BesideLattice(Lattice):
    """Alignments of letters, told in the columns of words with their tags."""

    lattice: Lattice
    words: Words
    word: Ints
    """[P]"""

    def log_probs(self) -> Floats:
        """Returns log p(y_i | y_<i, x) [P, I]."""
        return self.lattice.log_probs()

    def weights(self) -> Floats:
        """Returns where each symbol comes from [P, I, J], never from a tag."""
        return in_columns(self.lattice.weights(), self.words, self.word)

    def best_path(self) -> Ints:
        """Returns the column of each symbol [P, I] in the most probable alignment."""
        tags = self.words.tag_counts[self.word, None]
        return source_columns(self.lattice.best_path(), tags)

    def samples(self, noise: Floats) -> Ints:
        """Draws whole alignments [P, I, S]."""
        tags = self.words.tag_counts[self.word, None, None]
        return source_columns(self.lattice.samples(noise), tags)


def in_columns(weights: Floats, words: Words, word: Ints) -> Floats:
    """Spreads weights [N, I, J'] of begin, letters and end of rows that have a word: [N, I, J]."""
    length = words.symbols.shape[1]
    columns = source_columns(np.arange(weights.shape[2]), words.tag_counts[word, None])  # [N, J']
    spread = np.zeros((*weights.shape[:2], length), weights.dtype)
    row, place = np.nonzero(columns < length)
    spread[row, :, columns[row, place]] = weights[row, :, place]
    return spread
