"""Teaching where to look: pairs with the path that a character aligner finds for them.

Summed over all alignments, a network has to find out by itself where symbols come from, and from
little data it may not. So for its first epochs only one alignment of each pair counts, p(y, a | x)
instead of Σ_a p(y, a | x); from then on all do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hardalign import aligner
from hardalign.actions import aligner_pair
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import Vocabulary


def guided(pairs: Sequence[Encoded], vocabulary: Vocabulary) -> list[Encoded]:
    """Returns pairs with their paths, by an aligner that has learned from them; not random."""
    letters = [aligner_pair(pair) for pair in pairs]
    table = aligner.fit(
        letters, len(vocabulary.source.letters) + 1, len(vocabulary.target.letters) + 1
    )
    paths = aligner.align(table, letters)
    return [replace(p, path=positions(path, p)) for p, path in zip(pairs, paths, strict=True)]


def positions(path: aligner.Path, pair: Encoded) -> list[int]:
    """Returns the source position of each target symbol; none is before the one before it.

    What is aligned to no letter comes from where the last letter was, or from the begin symbol;
    the end comes from the end.
    """
    here, sequence = 0, []
    for j, i in path:
        if j is not None:
            here = 1 + j
        if i is not None:
            sequence.append(here)
    return [*sequence, len(pair.source) - 1 - pair.tags]
