"""The heads of systems with input feeding: what is fed back, and what symbols come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.networks.attention import Attention, Reading, log_prob_of
from hardalign.networks.fed import Rule, Trace
from hardalign.networks.unfed import HardHead

Choice = Callable[[Tensor], Tensor]
"""Chooses one position [...] by log-probabilities [..., J] that need not add up to 1."""


class SoftFeedHead(nn.Module):
    """Soft attention: c̄_i is what the symbol is produced from, and what is fed back."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention

    def rule(self, reading: Reading) -> Rule:  # noqa: ARG002
        """Feeds back the mean of the source states under α."""
        return lambda i, log_alpha, query: log_alpha.exp()  # noqa: ARG005

    def log_likelihood(self, trace: Trace, reading: Reading) -> Tensor:
        """Returns log softmax(W c̄_i) at y_i [B, I, k]; 0 at padding steps (eq. 8)."""
        return emitted(self.attention, trace, reading)


class HardFeedHead(nn.Module):
    """Hard attention: one position is fed back, yet what is produced is an exact mixture.

    The model's own p(y | x) sums over |x|^|y| alignments, each with a decoder of its own, which
    nobody can afford. To score and predict without chance there is a rule: produce the symbol by

        p̃(y_i | y_<i, x) = Σ_j α_j(i) p(y_i | j, y_<i, x),

    and feed back f(h_i, e_j) of one position: the most probable before the symbol is known,
    argmax α_j(i), or given the symbol, argmax α_j(i) p(y_i | j), whichever training draws by.

    p̃(y | x) = Π_i p̃(y_i | y_<i, x) is a proper distribution over strings: the probability of a
    string under this rule. It is neither log p(y | x) of the latent-variable model nor the bound
    that training raises.
    """

    def __init__(self, attention: Attention, feedback: Literal["alpha", "posterior"]) -> None:
        super().__init__()
        self.mixture = HardHead(attention)
        self.position_by = {"alpha": self.by_alpha, "posterior": self.by_posterior}[feedback]

    @property
    def attention(self) -> Attention:
        """T, S and W."""
        return self.mixture.attention

    def rule(self, reading: Reading) -> Rule:
        """Feeds back the most probable position."""
        return self.position_by(reading, lambda log_probs: log_probs.argmax(-1))

    def by_alpha(self, reading: Reading, choose: Choice) -> Rule:  # noqa: ARG002
        """Feeds back a position that is chosen by α, before the symbol is known."""
        return lambda i, log_alpha, query: one_hot(choose(log_alpha), log_alpha)  # noqa: ARG005

    def by_posterior(self, reading: Reading, choose: Choice) -> Rule:
        """Feeds back a position that is chosen by α_j(i) p(y_i | j), given the symbol."""

        @torch.no_grad()
        def rule(i: int, log_alpha: Tensor, query: Tensor) -> Tensor:
            step = reading.step(i, log_alpha.shape[1])
            return one_hot(choose(self.mixture.log_joint(log_alpha, query, step)), log_alpha)

        return rule

    def log_likelihood(self, trace: Trace, reading: Reading) -> Tensor:
        """Returns log p̃(y_i | y_<i, x) [B, I, k] of each particle; 0 at padding steps."""
        flat = (trace.log_alpha.flatten(1, 2), trace.query.flatten(1, 2))
        joint = self.mixture.log_joint(*flat, reading.repeated(trace.query.shape[2]))
        return joint.logsumexp(-1).view(trace.query.shape[:3])


def one_hot(position: Tensor, like: Tensor) -> Tensor:
    """Returns weights [..., J], 1 at one position [...] and 0 elsewhere; of the other's type."""
    return F.one_hot(position, like.shape[-1]).to(like.dtype)


def emitted(attention: Attention, trace: Trace, reading: Reading) -> Tensor:
    """Returns log softmax(W c̄_i) at y_i [B, I, k]; 0 at padding steps."""
    target, steps = (
        tensor.unsqueeze(2).expand(trace.joint.shape[:3])
        for tensor in (reading.target, reading.steps)
    )
    return log_prob_of(attention.logits(trace.joint), target, steps)
