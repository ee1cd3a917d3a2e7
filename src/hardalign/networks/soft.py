"""Soft attention: α inside the softmax, one mixed context vector (paper, section 5)."""

from __future__ import annotations

from torch import Tensor

from hardalign.networks.attention import log_prob_of
from hardalign.networks.reading import Reading
from hardalign.networks.unfed import Head


class SoftHead(Head):
    """Each symbol is produced from a weighted mean of the source states."""

    def log_likelihood(self, decoded: Tensor, reading: Reading) -> Tensor:
        """Returns log softmax(W f(h_i, c_i)) at y_i [B, I]; 0 at padding steps (eq. 8)."""
        alpha = self.attention.log_alpha(decoded, reading.memory).exp()
        # The encoder half of S commutes with the mixing of states.
        context = alpha @ reading.memory.output_key  # [B, I, d_s]
        joint = (self.attention.output_query(decoded) + context).tanh()
        return log_prob_of(self.attention.logits(joint), reading.target, reading.steps)
