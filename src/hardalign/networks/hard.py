"""Exact hard attention: α outside the softmax, a mixture over positions (paper, section 3)."""

from __future__ import annotations

from torch import Tensor

from hardalign.networks.reading import Reading
from hardalign.networks.unfed import Head
from hardalign.ops.layer import EXACT, Tolerance
from hardalign.ops.mixture import mixture_log_joint

TRAINING = Tolerance(value=1e-6, gradient=1e-6)
"""What training may leave out: about what float32 does anyway. Scores leave out nothing."""


class HardHead(Head):
    """Each symbol is produced from one source position; the position is summed out exactly."""

    def log_likelihood(self, decoded: Tensor, reading: Reading) -> Tensor:
        """Returns log Σ_j α_j(i) p(y_i | j, y_<i, x) [B, I]; 0 at padding steps (eq. 1d)."""
        log_alpha = self.attention.log_alpha(decoded, reading.memory)
        query = self.attention.output_query(decoded)
        return self.log_joint(log_alpha, query, reading).logsumexp(-1)

    def log_joint(self, log_alpha: Tensor, query: Tensor, reading: Reading) -> Tensor:
        """Returns log α_j(i) + log p(y_i | j, y_<i, x) [B, I, J].

        Args:
            log_alpha: [B, I, J]
            query: [B, I, d_s] decoder halves of S(h ⊕ e).
            reading: The pairs.
        """
        layer = self.attention.output_layer(query, reading.memory)
        tolerance = TRAINING if self.training else EXACT
        return mixture_log_joint(log_alpha, layer, reading.target, reading.steps, tolerance)
