"""Where to look: the alignment distribution α and what is kept of source words for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hardalign.runtime.decoder import WordTags
from hardalign.runtime.encoder import SourceStates
from hardalign.runtime.numbers import Bools, Floats, Ints, log_softmax, rows_of
from hardalign.runtime.output import Output, OutputKeys
from hardalign.runtime.words import Words


@dataclass(frozen=True)
class Memory:
    """Source words that have been read."""

    words: Words
    states: SourceStates
    attention_keys: Floats
    """[B, J, hidden] T e_j."""
    output_keys: OutputKeys
    tags: WordTags | None = None
    """Where they are beside the words, which then have none."""
    jump_keys: Floats | None = None
    """[B, J, jumps] of a chain; see ``chained``."""

    @property
    def present(self) -> Bools:
        """[B, J] true at source symbols, false at padding."""
        return self.words.present


class Attention:
    """Hard attention by content: α_j(i) = softmax over j of h_i · T e_j (eq. 3)."""

    def __init__(self, tensors: Mapping[str, Floats], name: str) -> None:
        self._weight = np.ascontiguousarray(tensors[f"{name}.score.weight"].T)
        self._bias = tensors[f"{name}.score.bias"]

    def remember(self, words: Words, states: SourceStates, output: Output) -> Memory:
        """Projects the encoder's states once for all steps."""
        keys = states.project(self._weight, self._bias).all
        return Memory(words, states, keys, output.keys(words, states))

    def scores(self, memory: Memory, word: Ints, decoded: Floats) -> Floats:
        """Returns h_i · T e_j, [N, I, J], of decoder states [N, I, hidden]; −inf at padding."""
        keys = rows_of(memory.attention_keys, word)
        scores = decoded @ keys.swapaxes(1, 2)
        if not memory.present.all():
            scores[~np.broadcast_to(memory.present[word][:, None], scores.shape)] = -np.inf
        return scores

    def log_alpha(self, memory: Memory, word: Ints, decoded: Floats, first: int) -> Floats:
        """Returns log α_j(i), [N, I, J]; −inf at padding.

        Args:
            memory: The source words.
            word: [N] the word of each row.
            decoded: [N, I, hidden] decoder states of successive steps.
            first: The number of the first of these steps, from 0.
        """
        del first  # content is the same at every step
        return log_softmax(self.scores(memory, word, decoded))


class PriorAttention(Attention):
    """Attention that prefers some places: a bias by how far a symbol is ahead of the target's."""

    def __init__(self, tensors: Mapping[str, Floats], name: str) -> None:
        super().__init__(tensors, name)
        self._prior = tensors[f"{name}.bias"]
        self._reach = len(self._prior) // 2

    def log_alpha(self, memory: Memory, word: Ints, decoded: Floats, first: int) -> Floats:
        """Returns log α_j(i) with the bias of place_j − i; places count from the first letter."""
        scores = self.scores(memory, word, decoded)
        place = np.arange(scores.shape[2]) - 1 - memory.words.tag_counts[word, None]  # [N, J]
        step = first + np.arange(scores.shape[1])
        ahead = np.clip(place[:, None] - step[:, None], -self._reach, self._reach)  # [N, I, J]
        scores += self._prior[ahead + self._reach]
        return log_softmax(scores)
