"""`hard` with a preference for the diagonal, learned as one number."""

from typing import Any

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Vocabulary
from hardalign.systems import System
from hardalign.systems.attention import ATTENTION, Hard, Memory
from hardalign.systems.ops import Array
from hardalign.systems.parameters import Parameter, Parameters

SYSTEM = System(
    "hardalign_slope:HardSlope",
    "hard that prefers source symbols as far along as the target",
    advice="short words whose letters and sounds keep step",
)
FARTHEST = 100
"""Larger distances count as this one."""


class HardSlope(Hard):
    """α_j(i) = softmax over j of h_i · T e_j − slope · |place_j − i|."""

    @classmethod
    def parameters(cls, config: ModelConfig, vocabulary: Vocabulary) -> Parameters:
        """Declares those of `hard` and the slope, 0 at first."""
        return super().parameters(config, vocabulary) | {f"{ATTENTION}.slope": Parameter((1,))}

    def log_alpha(self, h: Array, memory: Memory, word: Array | None, first: Any) -> Array:
        """Returns log α_j(i) [N, I, J] of steps from ``first`` on."""
        xp, scores = self.xp, self.scores(h, memory, word)
        tags = xp.rows(memory.words.tag_counts, word)[:, None]
        place = xp.arange(scores.shape[2], scores) - 1 - tags  # [N, J], from the first letter on
        ahead = place[:, None] - xp.arange(scores.shape[1], scores)[:, None] - first  # [N, I, J]
        distance = xp.where(ahead < 0, -ahead, ahead).clip(0, FARTHEST)
        penalties = self.p[f"{ATTENTION}.slope"] * xp.arange(FARTHEST + 1, scores)
        return xp.log_softmax(scores - xp.embed(penalties, distance))
