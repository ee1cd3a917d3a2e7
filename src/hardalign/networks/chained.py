"""Hard attention whose alignments are a chain: the next position depends on the last one.

The HMM aligner's idea, still summed over exactly (``hardalign.ops.chain``). A move from position k
to j is scored by what hard attention sees in j, and by a jump that the decoder state and the state
that is left prefer,

    p(a_i = j | a_{i-1} = k, y_<i, x) = softmax over j of h_i · T e_j + [G h_i + K e_k + b]_{j − k},

with a row of G, K and b for each distance from −``REACH`` to ``REACH``; farther jumps count as the
farthest. With G = K = b = 0 this is `hard` itself. The chain begins at the begin symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hardalign.data.vocabulary import END
from hardalign.networks.attention import Attention, Memory
from hardalign.networks.batch import Batch
from hardalign.networks.hard import TOLERANCE, HardHead
from hardalign.networks.rows import Rows
from hardalign.networks.transducer import Step
from hardalign.networks.unfed import UnfedState, UnfedTransducer
from hardalign.ops.chain import (
    Transitions,
    chain_best_path,
    chain_log_likelihood,
    chain_posterior,
    chain_samples,
)
from hardalign.ops.emission import Cells, emission_log_probs
from hardalign.ops.mixture import mixture_log_joint

REACH = 5
"""Jumps beyond this count as this."""


@dataclass(frozen=True)
class ChainMemory(Memory):
    """Source words, and where one goes from their symbols."""

    jump_key: Tensor
    """[B, J, jumps] K e_k + b"""


class ChainAttention(Attention):
    """Attention that also scores jumps."""

    monotone = False

    def __init__(self, encoded: int, hidden: int, joint: int, symbols: int) -> None:
        super().__init__(encoded, hidden, joint, symbols)
        self.jump = nn.Linear(hidden + encoded, 2 * REACH + 1)  # G and K

    def remember(self, states: Tensor, present: Tensor) -> ChainMemory:
        """Project the encoder's states once for all steps."""
        memory = super().remember(states, present)
        jump_key = F.linear(states, self.jump.weight[:, self._hidden :], self.jump.bias)
        return ChainMemory(**vars(memory), jump_key=jump_key)

    def log_transition(self, decoded: Tensor, memory: Memory) -> Tensor:
        """[B, I, J, J] log p(a_i = j | a_{i-1} = k) at [:, i, k, j] of states [B, I, hidden]."""
        memory = cast(ChainMemory, memory)
        position = torch.arange(memory.present.shape[1], device=decoded.device)
        distance = position - position.unsqueeze(1)  # [J, J] of j from k
        query = F.linear(decoded, self.jump.weight[:, : self._hidden])  # [B, I, jumps]
        jumps = query.unsqueeze(2) + memory.jump_key.unsqueeze(1)  # [B, I, J, jumps] from k
        index = (distance.clamp(-REACH, REACH) + REACH).expand(*jumps.shape[:2], -1, -1)
        looks = decoded @ memory.attention_key.transpose(1, 2)  # [B, I, J] as in hard attention
        possible = memory.present.unsqueeze(1)  # [B, 1, J]
        if self.monotone:
            # From padding, where nobody is, one may go anywhere: softmax needs somewhere to go.
            possible = possible & ((distance >= 0) | ~memory.present.unsqueeze(2))  # [B, J, J]
        scores = jumps.gather(3, index) + looks.unsqueeze(2)  # [B, I, J, J]
        return scores.masked_fill(~possible.unsqueeze(1), -torch.inf).log_softmax(-1)


class MonotoneAttention(ChainAttention):
    """The same, but nothing leads back."""

    monotone = True


class ChainHead(HardHead):
    """Each symbol is produced from one source position; paths of positions are summed exactly."""

    attention: ChainAttention

    def log_likelihood(
        self, decoded: Tensor, memory: Memory, target: Tensor, steps: Tensor
    ) -> Tensor:
        """[B, I] log p(y_i | y_<i, x); 0 at padding steps."""
        evidence = chain_log_likelihood(*self.chain(decoded, memory, target, steps))
        return evidence.masked_fill(~steps, 0.0)  # where it is 0 but for rounding

    def align(self, decoded: Tensor, memory: Memory, target: Tensor, steps: Tensor) -> Tensor:
        """[B, I, J] the exact posterior p(a_i = j | x, y)."""
        return chain_posterior(*self.chain(decoded, memory, target, steps))

    def log_joint(self, decoded: Tensor, memory: Memory, before: Tensor) -> tuple[Tensor, Tensor]:
        """The next symbol and its position, together, one step of a search.

        Args:
            decoded: [N, hidden]
            memory: Of the source words.
            before: [N, J] log p(a_{i-1} = k | y_<i, x).

        Returns:
            [N, J, V] log p(a_i = j, y_i | y_<i, x), and [N, J] log p(a_i = j | y_<i, x).
        """
        decoded = decoded.unsqueeze(1)
        transition = self.attention.log_transition(decoded, memory).squeeze(1)
        predicted = (before.unsqueeze(2) + transition).logsumexp(1)
        layer = self._layer(decoded, memory)
        row, position = memory.present.nonzero(as_tuple=True)
        emission = emission_log_probs(
            layer.query.squeeze(1),
            layer.key.flatten(0, 1),
            layer.weight,
            layer.bias,
            Cells(row, row * memory.present.shape[1] + position),
        )
        joint = emission.new_full((*predicted.shape, emission.shape[1]), -torch.inf)
        joint[row, position] = emission + predicted[row, position].unsqueeze(1)
        return joint, predicted

    def chain(
        self, decoded: Tensor, memory: Memory, target: Tensor, steps: Tensor
    ) -> tuple[Transitions, Tensor]:
        """Transitions and emissions of given pairs, as ``hardalign.ops.chain`` wants them."""
        # Every position weighs the same here: none is left out, whatever the tolerance.
        equal = decoded.new_zeros(*steps.shape, memory.present.shape[1])
        equal = equal.masked_fill(~memory.present.unsqueeze(1), -torch.inf)
        tolerance = TOLERANCE if self.training else 0.0
        layer = self._layer(decoded, memory)
        emission = mixture_log_joint(equal, layer, target, steps, tolerance)

        def transitions(block: slice) -> Tensor:
            return self.attention.log_transition(decoded[:, block], memory).to(emission.dtype)

        return transitions, emission


@dataclass(frozen=True)
class ChainState(UnfedState):
    """The source words, the decoder's memory, and where the last symbol may have come from."""

    joint: Tensor
    """[N, J, V] log p(a_i = j, y_i | y_<i, x) of every y_i that may be chosen; [N, J, 1] at first,
    when there is nothing to choose."""


class ChainTransducer(UnfedTransducer):
    """Carries the forward vector through a search.

    Each step's distribution is the exact p(y_i | y_<i, x): all alignments of the prefix are summed.
    """

    head: ChainHead

    def begin(self, batch: Batch) -> ChainState:
        """Read the source words; the chain is at their begin symbols."""
        state = super().begin(batch)
        start = torch.full_like(state.memory.attention_key[:, :, :1], -torch.inf)
        start[:, 0] = 0.0
        return ChainState(state.memory, state.hidden, start)

    def step(self, state: Rows, previous: Tensor) -> Step:
        """The distribution of the symbol after ``previous`` [N]."""
        state = cast(ChainState, state)
        chosen = (previous - END).clamp(0, state.joint.shape[2] - 1)  # [N]; the begin counts as 0
        index = chosen[:, None, None].expand(-1, state.joint.shape[1], 1)
        before = state.joint.gather(2, index).squeeze(2).log_softmax(1)
        decoded, hidden = self.decoder.step(previous, state.hidden)
        joint, predicted = self.head.log_joint(decoded, state.memory, before)
        return Step(joint.logsumexp(1), predicted.exp(), ChainState(state.memory, hidden, joint))

    def best_path(self, batch: Batch) -> Tensor:
        """[B, I] the most probable alignment of given pairs, by the Viterbi algorithm."""
        *_, steps = read = self._read(batch)
        return chain_best_path(*self.head.chain(*read), steps)

    def sample_paths(self, batch: Batch, noise: Tensor) -> Tensor:
        """[B, I, S] alignments drawn from p(a | x, y) of given pairs, by backward sampling.

        Args:
            batch: Pairs.
            noise: [B, I, S] independent and uniform in [0, 1).
        """
        return chain_samples(*self.head.chain(*self._read(batch)), noise)
