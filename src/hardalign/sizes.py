"""Sizes that are not chosen but follow: what keeps a comparison of systems fair.

The paper compares systems of the same number of parameters. A system that needs more than `soft`
(3) and `hard` (4) in one place gets less in another.
"""

from __future__ import annotations

from collections.abc import Callable

from hardalign.config import ModelConfig

PRIOR_REACH = 10
"""Distances between source and target places that a position prior tells apart; see ``prior``."""
CHAIN_REACH = 5
"""Jumps, in either direction, that a chain of alignments tells apart; see ``chained``."""


def closest(count: Callable[[int], int], goal: int) -> int:
    """Returns the size from 1 on whose ``count``, which grows with it, is nearest to ``goal``."""
    above = 1
    while count(above) < goal:
        above *= 2
    below = above // 2
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if count(middle) < goal else (below, middle)
    return min(max(below, 1), above, key=lambda size: abs(count(size) - goal))


def full_joint(config: ModelConfig) -> int:
    """Returns d_s = 3·d_h: as wide as the decoder state and the encoder state that S reads."""
    return config.decoder + 2 * config.encoder


def merged_joint(config: ModelConfig, symbols: int) -> int:
    """Returns the d_s that pays for merging c̄ into the decoder's input (paper, section 8.2).

    Args:
        config: Sizes of the model.
        symbols: Size of the target vocabulary.
    """
    read = full_joint(config)

    def output(joint: int) -> int:
        return (read + 1) * joint + (joint + 1) * symbols  # S and W

    def merge(joint: int) -> int:
        return (config.embedding + joint + 1) * config.embedding

    return closest(lambda joint: output(joint) + merge(joint), output(read))


def pointer_decoder(config: ModelConfig, actions: int, tags: int) -> int:
    """Returns the width of the decoder of `monotonic` that spends what T and S cost `soft`.

    Both have the same symbols to tell apart here, STEP among them: so it was in the paper. Many
    tags, which need a slot each, can cost more than T and S; the usual width always stays, since
    the paper speaks of increasing it.

    Args:
        config: Sizes of the model.
        actions: Size of the target vocabulary with STEP.
        tags: How many tags there are.
    """
    embedding, encoded, joint = config.embedding, 2 * config.encoder, full_joint(config)
    layers = config.decoder_layers
    merge = (tags * embedding + 1) * embedding if tags else 0
    attended = encoded + (embedding if tags else 0)

    def pointer(hidden: int) -> int:
        output = (embedding + hidden + 1) * actions
        return _lstm(embedding + attended, hidden, layers) + output + merge

    attention = (encoded + 1) * config.decoder + (joint + 1) * joint  # T and S
    output = (embedding + joint + 1) * actions
    goal = _lstm(embedding, config.decoder, layers) + attention + output
    return max(closest(pointer, goal), config.decoder)


def _lstm(inputs: int, hidden: int, layers: int) -> int:
    """Returns the number of parameters of an LSTM, with PyTorch's two bias vectors."""
    return 4 * hidden * (inputs + hidden + 2) + (layers - 1) * 4 * hidden * (2 * hidden + 2)
