"""The learning side: α over whole targets at once, in torch, differentiable."""

import torch
from torch import Tensor, nn

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Vocabulary
from hardalign.networks.attention import Attention, Memory
from hardalign.networks.build import unfed
from hardalign.networks.transducer import Transducer
from hardalign.networks.unfed import HardHead, Likelihood


class SlopeAttention(Attention):
    """α_j(i) = softmax over j of h_i · T e_j − slope · |place_j − i|."""

    def __init__(self, encoded: int, hidden: int, joint: int, symbols: int) -> None:
        super().__init__(encoded, hidden, joint, symbols)
        self.slope = nn.Parameter(torch.zeros(1))

    def log_alpha(self, decoded: Tensor, memory: Memory) -> Tensor:
        """Returns log α_j(i) [B, I, J]."""
        step = torch.arange(decoded.shape[1])
        place = torch.arange(memory.present.shape[1]) - 1 - memory.tag_counts.unsqueeze(1)
        distance = (place.unsqueeze(1) - step.unsqueeze(1)).abs()  # [B, I, J]
        return (super().log_alpha(decoded, memory) - self.slope * distance).log_softmax(-1)


def network(config: ModelConfig, vocabulary: Vocabulary) -> Transducer:
    """Returns a network to be trained."""
    return unfed(config, vocabulary, lambda s: HardHead(SlopeAttention(*s)), Likelihood())
