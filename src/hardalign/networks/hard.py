"""Exact hard attention: α outside the softmax, a mixture over positions (paper, section 3)."""

from __future__ import annotations

from torch import Tensor, nn

from hardalign.networks.attention import Attention, Memory
from hardalign.ops.mixture import OutputLayer, mixture_log_joint, mixture_log_probs

TOLERANCE = 1e-6
"""Error per symbol that training (relative) and decoding (absolute) may make by leaving positions
out: about what float32 makes anyway. Scores and alignments of given pairs leave none out."""


class HardHead(nn.Module):
    """Each symbol is produced from one source position; the position is summed out exactly."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention

    def log_likelihood(
        self, decoded: Tensor, memory: Memory, target: Tensor, steps: Tensor
    ) -> Tensor:
        """[B, I] log Σ_j α_j(i) p(y_i | j, y_<i, x); 0 at padding steps (eq. 1d)."""
        return self._log_joint(decoded, memory, target, steps).logsumexp(-1)

    def log_probs(self, decoded: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """[N, V] the next symbol's log-probabilities, and α [N, J]."""
        log_alpha = self.attention.log_alpha(decoded.unsqueeze(1), memory).squeeze(1)
        layer = self._layer(decoded.unsqueeze(1), memory)
        return mixture_log_probs(log_alpha, layer, TOLERANCE), log_alpha.exp()

    def align(self, decoded: Tensor, memory: Memory, target: Tensor, steps: Tensor) -> Tensor:
        """[B, I, J] the exact posterior p(a_i = j | x, y)."""
        return self._log_joint(decoded, memory, target, steps).softmax(-1)

    def _log_joint(self, decoded: Tensor, memory: Memory, target: Tensor, steps: Tensor) -> Tensor:
        log_alpha = self.attention.log_alpha(decoded, memory)
        tolerance = TOLERANCE if self.training else 0.0
        layer = self._layer(decoded, memory)
        return mixture_log_joint(log_alpha, layer, target, steps, tolerance)

    def _layer(self, decoded: Tensor, memory: Memory) -> OutputLayer:
        attention = self.attention
        query = attention.output_query(decoded)
        return OutputLayer(query, memory.output_key, attention.output_weight, attention.output_bias)
