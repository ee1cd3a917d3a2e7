"""Hard attention whose alignments are a chain: the next position depends on the last one.

The HMM aligner's idea, still summed over exactly (``hardalign.ops.chain``). A move from position k
to j is scored by what hard attention sees in j, and by a jump that the decoder state and the state
that is left prefer,

    p(a_i = j | a_{i-1} = k, y_<i, x) = softmax over j of h_i · T e_j + [G h_i + K e_k + b]_{j − k},

with a row of G, K and b for each distance up to ``CHAIN_REACH``, ahead or back; farther jumps count
as the farthest. With G = K = b = 0 this is `hard` itself. The chain begins at the begin symbol.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.networks.attention import Attention, Memory, Reading
from hardalign.networks.unfed import HardHead
from hardalign.ops.chain import Transitions, chain_log_likelihood
from hardalign.sizes import CHAIN_REACH


class ChainAttention(Attention):
    """Attention that also scores jumps."""

    monotone = False

    def __init__(self, encoded: int, hidden: int, joint: int, symbols: int) -> None:
        super().__init__(encoded, hidden, joint, symbols)
        self.jump = nn.Linear(hidden + encoded, 2 * CHAIN_REACH + 1)  # G and K

    def transitions(self, decoded: Tensor, memory: Memory) -> Transitions:
        """Returns log p(a_i = j | a_{i-1} = k) at [:, i, k, j], [B, I', J, J] for a slice of steps.

        Args:
            decoded: [B, I, hidden] decoder states.
            memory: The source words.
        """
        position = torch.arange(memory.present.shape[1], device=decoded.device)
        distance = position - position.unsqueeze(1)  # [J, J] of j from k
        index = distance.clamp(-CHAIN_REACH, CHAIN_REACH) + CHAIN_REACH
        possible = memory.present.unsqueeze(1)  # [B, 1, J]
        if self.monotone:
            # From padding, where nobody is, one may go anywhere: softmax needs somewhere to go.
            possible = possible & ((distance >= 0) | ~memory.present.unsqueeze(2))  # [B, J, J]
        impossible = ~possible.unsqueeze(1)
        jump_query = F.linear(decoded, self.jump.weight[:, : self._hidden])  # [B, I, jumps]
        jump_key = F.linear(memory.states, self.jump.weight[:, self._hidden :], self.jump.bias)

        def block(steps: slice) -> Tensor:
            jumps = jump_query[:, steps].unsqueeze(2) + jump_key.unsqueeze(1)  # [B, I', J, jumps]
            jumps = jumps.gather(3, index.expand(*jumps.shape[:2], -1, -1))  # [B, I', J, J]
            looks = decoded[:, steps] @ memory.attention_key.transpose(1, 2)  # [B, I', J]
            scores = jumps + looks.unsqueeze(2)
            return scores.masked_fill(impossible, -torch.inf).log_softmax(-1)

        return block


class MonotoneAttention(ChainAttention):
    """The same, but nothing leads back."""

    monotone = True


class ChainHead(HardHead):
    """Each symbol is produced from one source position; paths of positions are summed exactly."""

    attention: ChainAttention

    def __init__(self, attention: ChainAttention) -> None:
        super().__init__(attention)

    def log_likelihood(self, decoded: Tensor, reading: Reading) -> Tensor:
        """Returns log p(y_i | y_<i, x) [B, I]; 0 at padding steps."""
        transitions = self.attention.transitions(decoded, reading.memory)
        # Every position weighs the same here: none is left out, whatever the tolerance.
        equal = decoded.new_zeros(*reading.steps.shape, reading.memory.present.shape[1])
        equal = equal.masked_fill(~reading.memory.present.unsqueeze(1), -torch.inf)
        emission = self.log_joint(equal, self.attention.output_query(decoded), reading)
        evidence = chain_log_likelihood(lambda steps: transitions(steps).to(emission), emission)
        return evidence.masked_fill(~reading.steps, 0.0)  # where it is 0 but for rounding
