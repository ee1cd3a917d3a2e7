"""Invented examples for pronunciation: one word's beginning with another's ending.

Two words that have two symbols in a row in common, with what the aligner says became of them,
exchange what follows. Of *na-tion* and *pa-tient* come

    natient   N EY SH AH N T
    pation    P EY SH AH N

so that a network sees sounds in more surroundings than few words have. Slices of words were
shuffled by Ryan & Hulden (2020); here they are joined only where they fit.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from hardalign.aligner import Path
from hardalign.data.example import Example
from hardalign.errors import HardalignError

OVERLAP = 2
"""Operations of the aligner that two pairs must share where they are joined."""

Operation = tuple[str, str]
"""A source symbol and the target symbol it became; one of them is empty for a gap."""
Joint = tuple[Example, int, int]
"""A pair, and how many of its source and target symbols are before a joint."""


class Recombination:
    """Draws examples that begin as one pair and end as another.

    Raises:
        HardalignError: If no two pairs can be joined.
    """

    def __init__(self, pairs: Sequence[Example], paths: Sequence[Path]) -> None:
        joints: defaultdict[tuple[Operation, ...], list[Joint]] = defaultdict(list)
        for pair, path in zip(pairs, paths, strict=True):
            for operations, joint in _joints(pair, path):
                joints[operations].append(joint)
        self._joints = [alike for alike in joints.values() if len(alike) > 1]
        self._weights = [len(alike) for alike in self._joints]
        if not self._joints:
            raise HardalignError(
                "cannot invent examples: no two of them share two symbols in a row that became the "
                "same; leave it out"
            )

    def draw(self, draw: random.Random) -> Example:
        """Returns one example."""
        (alike,) = draw.choices(self._joints, self._weights)
        (first, j, i), (second, k, m) = draw.sample(alike, 2)
        source = first.source[:j] + second.source[k:]
        target = first.targets[0][:i] + second.targets[0][m:]
        return replace(second, source=source, targets=(target,), text="", line=0)


def _joints(pair: Example, path: Path) -> list[tuple[tuple[Operation, ...], Joint]]:
    """Returns where a pair can be joined with others, and what they must share there."""
    source, target = pair.source, pair.targets[0]
    operations: list[Operation] = []
    joints: list[tuple[tuple[Operation, ...], Joint]] = []
    before_source = before_target = 0
    for j, i in path:
        if len(operations) >= OVERLAP:
            joint = pair, before_source, before_target
            joints.append((tuple(operations[-OVERLAP:]), joint))
        operations.append(("" if j is None else source[j], "" if i is None else target[i]))
        before_source += j is not None
        before_target += i is not None
    return joints
