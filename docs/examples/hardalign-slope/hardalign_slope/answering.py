"""The answering side: the same α in NumPy, for any number of steps from any step on."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Vocabulary
from hardalign.runtime.attention import Attention, Memory
from hardalign.runtime.build import build_unfed
from hardalign.runtime.numbers import Floats, Ints, log_softmax
from hardalign.runtime.unfed import Hard
from hardalign.shapes import UNFED, Shapes, parameter_shapes


class SlopeAttention(Attention):
    """α_j(i) = softmax over j of h_i · T e_j − slope · |place_j − i|."""

    def __init__(self, tensors: Mapping[str, Floats], name: str) -> None:
        super().__init__(tensors, name)
        self._slope = tensors[f"{name}.slope"]

    def log_alpha(self, memory: Memory, word: Ints, decoded: Floats, first: int) -> Floats:
        """Returns log α_j(i) [N, I, J] of steps from ``first`` on."""
        scores = self.scores(memory, word, decoded)
        place = np.arange(scores.shape[2]) - 1 - memory.words.tag_counts[word, None]  # [N, J]
        step = first + np.arange(scores.shape[1])
        distance = np.abs(place[:, None] - step[:, None]).astype(scores.dtype)  # [N, I, J]
        return log_softmax(scores - self._slope * distance)


def runtime(config: ModelConfig, tensors: Mapping[str, Floats]) -> Hard:
    """Returns a model that answers."""
    return build_unfed(Hard, config, tensors, SlopeAttention(tensors, UNFED))


def shapes(config: ModelConfig, vocabulary: Vocabulary) -> Shapes:
    """Returns the shapes of a model's tensors: those of `hard` and one number."""
    hard = parameter_shapes(replace(config, system="hard"), vocabulary)
    return hard | {f"{UNFED}.slope": (1,)}
