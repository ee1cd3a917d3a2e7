"""Alignment of examples without a model: the aligner learns from the pairs themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hardalign import aligner
from hardalign.data.example import Example
from hardalign.data.vocabulary import RESERVED, UNKNOWN, Alphabet, Vocabulary
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
        sizes = (
            1 + len(alphabet.letters)
            for alphabet in (self._vocabulary.source, self._vocabulary.target)
        )
        self._table = aligner.fit([self._pair_ids(pair) for pair in pairs], *sizes)

    def align(self, pairs: Iterable[Example]) -> Iterator[Links]:
        """Gives the best alignment of each pair, also of pairs that were not learned from."""
        block: list[Example] = []
        for pair in pairs:
            block.append(pair)
            if len(block) == _BLOCK:
                yield from self._links(block)
                block = []
        yield from self._links(block)

    def _links(self, block: Sequence[Example]) -> Iterator[Links]:
        paths = aligner.align(self._table, [self._pair_ids(pair) for pair in block])
        for pair, path in zip(block, paths, strict=True):
            first = 1 + len(pair.tags)
            columns = [None if j is None else first + j for j, i in path if i is not None]
            yield Links(pair.source, pair.tags, pair.targets[0], columns)

    def _pair_ids(self, pair: Example) -> aligner.Pair:
        return (
            _ids(self._vocabulary.source, pair.source),
            _ids(self._vocabulary.target, pair.targets[0]),
        )


def _ids(alphabet: Alphabet, letters: Sequence[str]) -> list[int]:
    """Returns the aligner's ids: 0 is any letter that was never seen, others count from 1."""
    numbers = alphabet.encode(letters)
    return [0 if number == UNKNOWN else number - RESERVED + 1 for number in numbers]
