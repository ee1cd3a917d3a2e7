"""Known forms of a lemma beside it: what other cells of its paradigm tell about the one asked for.

Where the training data has *huses* as N;INDF;GEN;PL, the question *hus*, N;INDF;NOM;PL becomes

    h u s || h u s e s      N;INDF;NOM;PL;1:N;1:INDF;1:GEN;1:PL

so that whatever depends on the word alone, such as its declension, can be read instead of guessed.
A form of the very tags that are asked for is never shown, so that words that were learned from and
words that were not are asked about in the same way.

The forms shown are those from which the one asked for follows most regularly: of all lemmas that
have both cells, the share whose forms differ in the most frequent way. Where few lemmas have both,
cells count by how many tags they share.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, permutations

import msgspec

from hardalign.data.formats import Example, training_pairs
from hardalign.data.text import Symbols
from hardalign.errors import HardalignError
from hardalign.files import JSON_LIMIT

SEPARATOR = "||"
"""The source symbol before each known form."""
PRIOR = 4.0
"""How many lemmas the share of common tags counts for."""
MOST_COMPARED = 1_000_000
"""So many pairs of forms are compared, about a second's work, to learn what follows from what."""

Row = tuple[Symbols, Symbols, Symbols]
"""Lemma, tags and form."""


@dataclass(frozen=True)
class KnownForms:
    """The forms of a model's training data, and how many of them a question is given."""

    rows: tuple[Row, ...]
    count: int

    @classmethod
    def of(cls, examples: Iterable[Example], count: int) -> KnownForms:
        """Collect the forms of examples."""
        pairs = training_pairs(examples)
        rows = dict.fromkeys((pair.source, pair.tags, pair.targets[0]) for pair in pairs)
        known = cls(tuple(rows), count)
        if all(len({tags for tags, _ in cells}) == 1 for cells in known._paradigms.values()):
            raise HardalignError(
                "there are no known forms to learn from: no source occurs with different tags, as "
                "a lemma does in a list of its forms; leave them out"
            )
        if len(known.to_bytes()) > JSON_LIMIT:
            raise HardalignError(
                f"{len(rows):,} forms are too many to be kept with a model as known forms; give "
                "fewer, or leave them out"
            )
        return known

    def beside(self, example: Example) -> Example:
        """Returns an example with known forms of its lemma after it, and their tags, numbered."""
        paradigm = self._paradigms.get(example.source, ())
        cells = [cell for cell in paradigm if cell[0] != example.tags]
        cells.sort(key=lambda cell: self._regular(cell[0], example.tags), reverse=True)
        source, tags = example.source, example.tags
        for number, (known_tags, form) in enumerate(cells[: self.count], start=1):
            source += (SEPARATOR, *form)
            tags += tuple(f"{number}:{tag}" for tag in known_tags)
        return replace(example, source=source, tags=tags)

    def to_bytes(self) -> bytes:
        """Returns the forms as JSON, one a line."""
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows)
        return "".join(lines).encode(errors="surrogatepass")

    @classmethod
    def from_bytes(cls, content: bytes, count: int) -> KnownForms:
        """Rebuild what ``to_bytes`` returned, or raise a ``HardalignError`` if it is damaged."""
        try:
            text = content.decode(errors="surrogatepass")
            # A symbol may be a line break of Unicode: lines end with \n alone.
            rows = [json.loads(line) for line in text.removesuffix("\n").split("\n")]
            return cls(msgspec.convert(rows, tuple[Row, ...]), count)
        except (ValueError, RecursionError, msgspec.ValidationError) as error:
            raise HardalignError(f"damaged: {error}") from error

    @cached_property
    def _paradigms(self) -> dict[Symbols, list[tuple[Symbols, Symbols]]]:
        """Tags and form of each cell that is known of a lemma."""
        paradigms = defaultdict(list)
        for lemma, tags, form in self.rows:
            paradigms[lemma].append((tags, form))
        return dict(paradigms)

    @cached_property
    def _regularity(self) -> dict[tuple[Symbols, Symbols], tuple[int, int]]:
        """How many lemmas have both of two cells, and how many of these differ most regularly."""
        changes: defaultdict[tuple[Symbols, Symbols], Counter[tuple[Symbols, Symbols]]]
        changes = defaultdict(Counter)
        pairs = chain.from_iterable(permutations(cells, 2) for cells in self._paradigms.values())
        for (tags, form), (other_tags, other) in islice(pairs, MOST_COMPARED):
            if tags != other_tags:
                changes[tags, other_tags][_change(form, other)] += 1
        return {cells: (own.total(), max(own.values())) for cells, own in changes.items()}

    def _regular(self, known: Symbols, asked: Symbols) -> float:
        """Returns how regularly a form of some tags follows from one of others, from 0 to 1."""
        lemmas, regular = self._regularity.get((known, asked), (0, 0))
        one, other = set(known), set(asked)
        common = len(one & other) / max(1, len(one | other))
        return (regular + PRIOR * common) / (lemmas + PRIOR)


def _change(form: Symbols, other: Symbols) -> tuple[Symbols, Symbols]:
    """Returns what follows what two forms have in common at their beginning."""
    same = 0
    while same < min(len(form), len(other)) and form[same] == other[same]:
        same += 1
    return form[same:], other[same:]
