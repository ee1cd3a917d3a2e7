"""Where a step looks, as ONNX nodes: a class for each kind of attention in the table of systems.

A kind of attention says what of the source it wants to know in every step (``fixed``) and what each
step tells the next one (``changing``). The encoder writes both; a step reads both and writes what
changes anew, as next_X for X.
"""

from __future__ import annotations

import numpy as np
from onnx import ValueInfoProto

from hardalign.data.vocabulary import END
from hardalign.export.layers import Network
from hardalign.export.nodes import INTEGERS, NUMBERS, Nodes, integer, integers, value

IMPOSSIBLE = np.array(-1e30)
"""Stands for log 0. It is finite so that no runtime makes a nan of a sum of nothing but log 0."""


class Attention:
    """Looks by content alone: α_j(i) = softmax over j of h_i · T e_j (paper, eq. 3)."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def fixed(self) -> list[ValueInfoProto]:
        """Returns what the encoder tells every step, besides what all kinds of attention need."""
        return []

    def changing(self) -> list[ValueInfoProto]:
        """Returns what a step tells the next one, besides the decoder's memory."""
        return []

    def remember(self, nodes: Nodes, states: str) -> None:
        """Adds to the encoder what writes ``fixed`` and ``changing``.

        Args:
            nodes: Of the encoder's graph.
            states: [B, J, 2·encoder]
        """

    def log_alpha(self, nodes: Nodes, decoded: str, scores: str) -> str:  # noqa: ARG002
        """Adds to the step where it looks: log p(a_i = j | y_<i, x) [N, J].

        Args:
            nodes: Of the step's graph.
            decoded: [N, decoder] h_i
            scores: [N, J] h_i · T e_j, ``IMPOSSIBLE`` at padding.
        """
        return nodes("LogSoftmax", scores, axis=-1)

    def finish(self, nodes: Nodes, joint: str) -> None:
        """Adds to the step what it tells the next one about this one.

        Args:
            nodes: Of the step's graph.
            joint: [N, J, V] log p(a_i = j, y_i | y_<i, x), for each y_i that may be chosen.
        """


class PriorAttention(Attention):
    """Adds a bias to the scores by how far ahead of the target's next symbol a position is."""

    def changing(self) -> list[ValueInfoProto]:
        """Returns by how many places each source symbol is ahead."""
        meaning = "places by which each source symbol is ahead of the next target symbol"
        return [value("ahead", INTEGERS, ("batch", "length"), meaning)]

    def remember(self, nodes: Nodes, states: str) -> None:  # noqa: ARG002
        """Counts places from the first letter, after begin and tags."""
        before = nodes("Mul", "tags", integer(0 if self.network.tags else 1))
        first = nodes("Unsqueeze", nodes("Add", before, integer(1)), integers(1))  # [B, 1]
        nodes("Sub", positions(nodes, "source"), first, name="ahead")

    def log_alpha(self, nodes: Nodes, decoded: str, scores: str) -> str:
        """Adds the bias and the next step's places."""
        bias = self.network.head("bias")
        scores = nodes("Add", scores, nodes("Gather", bias, _bounded(nodes, "ahead", len(bias))))
        nodes("Sub", "ahead", integer(1), name="next_ahead")
        return super().log_alpha(nodes, decoded, scores)


class ChainAttention(Attention):
    """Looks where a chain goes: from k to j by h_i · T e_j + [G h_i + K e_k + b]_{j − k}.

    All ways to the positions are summed over in every step (the forward algorithm), given the
    symbol that was chosen in the step before.
    """

    monotone = False
    """Whether jumps back are impossible."""

    def fixed(self) -> list[ValueInfoProto]:
        """Returns how jumps are scored by the positions that they leave."""
        shape, meaning = ("batch", "length", "length"), "[K e_k + b]_{j − k} at k, j"
        return [value("jumps", NUMBERS, shape, meaning)]

    def changing(self) -> list[ValueInfoProto]:
        """Returns the probability of each last symbol together with each position."""
        shape = ("batch", self.network.symbols, "length")
        meaning = "log-probability of each last symbol together with where it came from"
        return [value("joint", NUMBERS, shape, meaning)]

    def remember(self, nodes: Nodes, states: str) -> None:
        """Scores all jumps; the chain starts at the begin symbol, whichever symbol is the last."""
        weight = self.network.head("jump.weight")[:, self.network.config.decoder :]
        keys = nodes("MatMul", states, weight.T)
        keys = nodes("Add", keys, self.network.head("jump.bias"))  # [B, J, distances]
        distance, words = _distance(nodes, "source"), nodes("Shape", "lengths")
        index = _bounded(nodes, distance, len(weight))  # [J, J]
        index = nodes("Expand", index, nodes("Concat", words, integers(1, 1), axis=0))
        name = None if self.monotone else "jumps"
        jumps = nodes("GatherElements", keys, index, axis=2, name=name)  # [B, J, J]
        if self.monotone:
            back = nodes("Less", distance, integer(0))
            nodes("Where", back, IMPOSSIBLE, jumps, name="jumps")
        begin = nodes("Equal", positions(nodes, "source"), integer(0))  # [J]
        start = nodes("Where", begin, np.array(0.0), IMPOSSIBLE)
        size = nodes("Concat", words, integers(self.network.symbols, 1), axis=0)
        nodes("Expand", start, size, name="joint")

    def log_alpha(self, nodes: Nodes, decoded: str, scores: str) -> str:
        """Adds one step of the forward algorithm."""
        weight = self.network.head("jump.weight")[:, : self.network.config.decoder]
        jumps = nodes("MatMul", decoded, weight.T)  # [N, distances]
        index = _bounded(nodes, _distance(nodes, "present"), len(weight))
        jumps = nodes("Add", nodes("Gather", jumps, index, axis=1), "jumps")  # [N, J, J]
        scores = nodes("Add", jumps, nodes("Unsqueeze", scores, integers(1)))
        moves = nodes("LogSoftmax", scores, axis=-1)  # [N, J, J] from k to j
        # Before the first step nothing was chosen, but all symbols have the same column.
        chosen = nodes("Max", nodes("Sub", "previous", integer(END)), integer(0))
        chosen = nodes("Unsqueeze", chosen, integers(1))
        before = nodes("GatherND", "joint", chosen, batch_dims=1)  # [N, J]
        before = nodes("LogSoftmax", before, axis=-1)  # log p(a_{i-1} = k | y_<i, x)
        paths = nodes("Add", nodes("Unsqueeze", before, integers(2)), moves)
        return nodes("ReduceLogSumExp", paths, axes=[1], keepdims=0)

    def finish(self, nodes: Nodes, joint: str) -> None:
        """Hands on the joint distribution, as the symbol that is chosen is not known yet."""
        nodes("Transpose", joint, perm=[0, 2, 1], name="next_joint")


class MonotoneAttention(ChainAttention):
    """Is a chain that never goes back."""

    monotone = True


ATTENTIONS: dict[str, type[Attention]] = {
    "content": Attention,
    "prior": PriorAttention,
    "chain": ChainAttention,
    "monotone chain": MonotoneAttention,
}
"""What to build, by the word in the table of systems."""


def positions(nodes: Nodes, name: str) -> str:
    """Adds the numbers of all source positions [J], from the size of a value [B, J]."""
    longest = nodes("Gather", nodes("Shape", name), integer(1))
    return nodes("Range", integer(0), longest, integer(1))


def _distance(nodes: Nodes, name: str) -> str:
    """Adds the distances j − k [J, J], from the size of a value [B, J]."""
    position = positions(nodes, name)
    return nodes("Sub", position, nodes("Unsqueeze", position, integers(1)))


def _bounded(nodes: Nodes, distance: str, count: int) -> str:
    """Adds the row for a distance in a table of ``count`` rows, the middle one being for 0."""
    reach = integer(count // 2)
    return nodes("Add", nodes("Clip", distance, -reach, reach), reach)
