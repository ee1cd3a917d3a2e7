"""Alignment of examples without a model: the aligner learns from the pairs themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from hardalign.aligner.actions import aligner_ids
from hardalign.aligner.grids import Pair
from hardalign.aligner.operations import align, fit
from hardalign.data.example import Example
from hardalign.data.vocabulary import Vocabulary
from hardalign.notation import Links

_BLOCK = 4096  # pairs aligned at a time


class UnsupervisedAligner:
    """Aligns symbol by symbol, from left to right, without crossing.

    Each source symbol goes with one target symbol or none, each target symbol comes from one
    source symbol or from nothing; tags are left out. The same pairs always give the same aligner.

    >>> pairs = list(training_pairs(read_examples("lexicon.tsv", FORMATS["lexicon"], "training")))
    >>> links = next(UnsupervisedAligner(pairs).align(pairs))
    """

    def __init__(self, pairs: Sequence[Example]) -> None:
        self._vocabulary = Vocabulary.of(pairs)
        source, target = self._vocabulary.source.letters, self._vocabulary.target.letters
        ids = [self._pair_ids(pair) for pair in pairs]
        self._table = fit(ids, 1 + len(source), 1 + len(target))

    def align(self, pairs: Iterable[Example]) -> Iterator[Links]:
        """Gives the best alignment of each pair, also of pairs that were not learned from."""
        stream = iter(pairs)
        while block := list(islice(stream, _BLOCK)):
            paths = align(self._table, [self._pair_ids(pair) for pair in block])
            for pair, path in zip(block, paths, strict=True):
                first = 1 + len(pair.tags)
                columns = [None if j is None else first + j for j, i in path if i is not None]
                yield Links(pair.source, pair.tags, pair.targets[0], columns)

    def _pair_ids(self, pair: Example) -> Pair:
        source = self._vocabulary.source.encode(pair.source)
        target = self._vocabulary.target.encode(pair.targets[0])
        return aligner_ids(source), aligner_ids(target)
