"""Oracle actions: an alignment told as what a pointer does (Aharoni & Goldberg 2017).

A pointer walks over the source from its begin symbol, position 0, past its letters, from position 1
on, to its end symbol. An action is a symbol, written while the pointer stays, or STEP, which moves
the pointer one to the right, or END. STEP is one more number after the target's symbols.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from hardalign.aligner.grids import Pair
from hardalign.aligner.operations import Path, align
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import END


def align_actions(table: ArrayLike, pairs: Sequence[Encoded], step: int) -> list[list[int]]:
    """Returns the actions of each pair's best alignment by an aligner's table."""
    paths = align(table, [aligner_pair(pair) for pair in pairs])
    return [oracle_actions(path, p.target, step) for path, p in zip(paths, pairs, strict=True)]


def oracle_actions(path: Path, target: Sequence[int], step: int) -> list[int]:
    """Tells an alignment as actions.

    The pointer steps onto each letter in turn. What is aligned to the letter is written there, a
    deleted letter writes nothing, and an insertion is written wherever the pointer is: what stands
    before all letters, such as a prefix, at the begin symbol, where nothing else is ever written,
    so that a prefix and the first letter are never rivals for the same step. The end comes at the
    end symbol only: the decision to stop is made where the word is seen to be over, and every pair
    has as many STEPs as source positions to step to.

    Args:
        path: An alignment of the letters of both sides.
        target: The target's letters, as numbers.
        step: The number of STEP.

    Returns:
        Actions, END the last.
    """
    actions: list[int] = []
    for j, i in path:
        if j is not None:
            actions.append(step)
        if i is not None:
            actions.append(target[i])
    return [*actions, step, END]


def aligner_pair(pair: Encoded) -> Pair:
    """Returns a pair's letters in the aligner's numbers: 0 is unknown, others count from 1."""
    return aligner_ids(pair.source[1 + pair.tags : -1]), aligner_ids(pair.target[:-1])


def aligner_ids(letters: Sequence[int]) -> list[int]:
    """Returns letters of a vocabulary in the aligner's numbers."""
    return [max(0, number - END) for number in letters]
