"""Soft attention: α inside the softmax, one mixed context vector (paper, section 5)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.networks.attention import Attention, Memory


class SoftHead(nn.Module):
    """Each symbol is produced from a weighted mean of the source states."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention

    def log_likelihood(
        self, decoded: Tensor, memory: Memory, target: Tensor, steps: Tensor
    ) -> Tensor:
        """[B, I] log softmax(W f(h_i, c_i)) at y_i; 0 at padding steps (eq. 8)."""
        logits = self._logits(decoded, self._alpha(decoded, memory), memory)
        chosen = logits.gather(-1, target.unsqueeze(-1)).squeeze(-1)
        return (chosen - logits.logsumexp(-1)).masked_fill(~steps, 0.0)

    def log_probs(self, decoded: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """[N, V] the next symbol's log-probabilities, and α [N, J]."""
        decoded = decoded.unsqueeze(1)
        alpha = self._alpha(decoded, memory)
        log_probs = self._logits(decoded, alpha, memory).log_softmax(-1)
        return log_probs.squeeze(1), alpha.squeeze(1)

    def align(self, decoded: Tensor, memory: Memory, target: Tensor, steps: Tensor) -> Tensor:  # noqa: ARG002
        """[B, I, J] the attention weights; soft attention has no alignment to be certain of."""
        return self._alpha(decoded, memory)

    def _alpha(self, decoded: Tensor, memory: Memory) -> Tensor:
        return self.attention.log_alpha(decoded, memory).exp()

    def _logits(self, decoded: Tensor, alpha: Tensor, memory: Memory) -> Tensor:
        """W tanh(S (h_i ⊕ c_i)); the encoder half of S commutes with the mixing of states."""
        context = alpha @ memory.output_key  # [B, I, d_s]
        joint = (self.attention.output_query(decoded) + context).tanh()
        return F.linear(joint, self.attention.output_weight, self.attention.output_bias)
