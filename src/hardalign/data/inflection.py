"""Help for inflection with little data: hallucinated examples and known forms.

Hallucination (Anastasopoulos & Neubig 2019; Silfverberg & al. 2017): where lemma and form share a
stretch of at least three symbols, according to an aligner, everything between its first and last
symbol is replaced by the same random symbols on both sides:

    walk  walked  V;PST      →      wolutk  wolutked  V;PST

so that a network learns which affix a tag calls for, and to copy the stem whatever it is.

Known forms: if the training data has *huses* as N;INDF;GEN;PL, the input *hus*, N;INDF;NOM;PL
becomes

    h u s || h u s e s      N;INDF;NOM;PL;1:N;1:INDF;1:GEN;1:PL

so that properties of the word itself, such as its declension, can be read off instead of guessed.
A form with the requested tags is never shown, so that inputs look the same for training words and
new ones. The forms shown are those from which the requested one follows most regularly: of the
lemmas that have both cells, the share whose forms differ in the most frequent way. If few lemmas
have both, the share of common tags decides.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, islice, pairwise, permutations

import msgspec

from hardalign.data.formats import Example, training_pairs
from hardalign.data.text import Symbols
from hardalign.errors import HardalignError
from hardalign.files import JSON_LIMIT

SHORTEST = 3  # symbols of a stretch, at least
KEPT = 3.0  # bonus of a copied symbol in the score of an alignment, in nats
PLENTY = 10
"""With fewer hallucinated examples per pair, rare tags are drawn more often, as their affixes are
learned least; otherwise all pairs are drawn alike."""
RARE = 10
"""Added to the count of a tag, so that tags that occur once do not dominate."""
UNIGRAMS = 0.5  # share of symbols drawn from unigrams, the others from bigrams
SEPARATOR = "||"  # the source symbol before each known form
PRIOR = 4.0  # weight of the share of common tags, in lemmas
MOST_COMPARED = 1_000_000
"""Maximum pairs of forms compared to measure regularity, about a second's work."""

Stretch = tuple[int, int, int]
"""A run of symbols shared by both sides: its start in source and target, and its length."""
Row = tuple[Symbols, Symbols, Symbols]  # lemma, tags and form


def hallucinate(examples: Sequence[Example], count: int, seed: int) -> list[Example]:
    """Return ``count`` hallucinated examples; the same arguments give the same examples."""
    if not count:
        return []
    places = [place for place in _stretches(list(training_pairs(examples))) if place[1]]
    if not places:
        raise HardalignError(
            "cannot hallucinate examples: no source shares three symbols in a row with its target, "
            "as a lemma and its inflected form do; leave hallucinate out"
        )
    draw = random.Random(f"invent {seed}")
    stems = [pair.source[j : j + length] for pair, own in places for j, _, length in own]
    lengths = [len(stem) - 2 for stem in stems]
    symbols = [symbol for stem in stems for symbol in stem]
    after: defaultdict[str, list[str]] = defaultdict(list)
    for before, symbol in chain.from_iterable(map(pairwise, stems)):
        after[before].append(symbol)

    def inside(before: str) -> Symbols:
        """Draw the inside of a stem, given its first symbol."""
        drawn = [before]
        for _ in range(draw.choice(lengths)):
            followers = after.get(drawn[-1])
            if not followers or draw.random() < UNIGRAMS:
                followers = symbols
            drawn.append(draw.choice(followers))
        return tuple(drawn[1:])

    def invented(pair: Example, stretches: list[Stretch]) -> Example:
        source, target = pair.source, pair.targets[0]
        for j, i, length in reversed(stretches):  # from the right, so that indices stay valid
            new = inside(source[j])
            source = source[: j + 1] + new + source[j + length - 1 :]
            target = target[: i + 1] + new + target[i + length - 1 :]
        return replace(pair, source=source, targets=(target,), text="", line=0)

    if count >= PLENTY * len(places):
        return [invented(*draw.choice(places)) for _ in range(count)]
    tags = Counter(tag for pair, _ in places for tag in pair.tags)
    rarest = [min((tags[tag] for tag in pair.tags), default=0) for pair, _ in places]
    weights = list(accumulate((RARE + n) ** -0.5 for n in rarest))
    return [invented(*draw.choices(places, cum_weights=weights)[0]) for _ in range(count)]


def _stretches(pairs: Sequence[Example]) -> list[tuple[Example, list[Stretch]]]:
    """Return pairs with their stretches, as found by an aligner trained on the pairs."""
    import numpy as np

    from hardalign import aligner

    sides = [(pair.source, pair.targets[0]) for pair in pairs]
    numbers = {symbol: n for n, symbol in enumerate(sorted({s for x, y in sides for s in x + y}))}
    numbered = [([numbers[s] for s in x], [numbers[s] for s in y]) for x, y in sides]
    table = aligner.fit(numbered, len(numbers), len(numbers))
    # From few pairs, an aligner does not learn that most symbols are copied.
    table[np.diag_indices_from(table)] += KEPT
    found = []
    for pair, path in zip(pairs, aligner.align(table, numbered), strict=True):
        stretches, length = [], 0
        for j, i in [*path, (None, None)]:
            if j is not None and i is not None and pair.source[j] == pair.targets[0][i]:
                length, last = length + 1, (j, i)
                continue
            if length >= SHORTEST:
                stretches.append((last[0] - length + 1, last[1] - length + 1, length))
            length = 0
        found.append((pair, stretches))
    return found


@dataclass(frozen=True)
class KnownForms:
    """The forms in a model's training data, and how many of them to add to an input."""

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
        """Append known forms of an example's lemma to its source, and their numbered tags."""
        paradigm = self._paradigms.get(example.source, ())
        cells = [cell for cell in paradigm if cell[0] != example.tags]
        cells.sort(key=lambda cell: self._regular(cell[0], example.tags), reverse=True)
        source, tags = example.source, example.tags
        for number, (known_tags, form) in enumerate(cells[: self.count], start=1):
            source += (SEPARATOR, *form)
            tags += tuple(f"{number}:{tag}" for tag in known_tags)
        return replace(example, source=source, tags=tags)

    def to_bytes(self) -> bytes:
        """Return the forms as JSON Lines."""
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows)
        return "".join(lines).encode(errors="surrogatepass")

    @classmethod
    def from_bytes(cls, content: bytes, count: int) -> KnownForms:
        """Rebuild what ``to_bytes`` returned, or raise a ``HardalignError`` if it is damaged."""
        try:
            text = content.decode(errors="surrogatepass")
            # A symbol may be a Unicode line break: only \n ends a line.
            rows = [json.loads(line) for line in text.removesuffix("\n").split("\n")]
            return cls(msgspec.convert(rows, tuple[Row, ...]), count)
        except (ValueError, RecursionError, msgspec.ValidationError) as error:
            raise HardalignError(f"damaged: {error}") from error

    @cached_property
    def _paradigms(self) -> dict[Symbols, list[tuple[Symbols, Symbols]]]:
        """The known cells of each lemma: tags and form."""
        paradigms = defaultdict(list)
        for lemma, tags, form in self.rows:
            paradigms[lemma].append((tags, form))
        return dict(paradigms)

    @cached_property
    def _regularity(self) -> dict[tuple[Symbols, Symbols], tuple[int, int]]:
        """For two cells: how many lemmas have both, and how many of them differ most regularly."""
        from rapidfuzz.distance import Prefix

        changes: defaultdict[tuple[Symbols, Symbols], Counter[tuple[Symbols, Symbols]]]
        changes = defaultdict(Counter)
        pairs = chain.from_iterable(permutations(cells, 2) for cells in self._paradigms.values())
        for (tags, form), (other_tags, other) in islice(pairs, MOST_COMPARED):
            if tags != other_tags:
                same = Prefix.similarity(form, other)
                changes[tags, other_tags][form[same:], other[same:]] += 1
        return {cells: (own.total(), max(own.values())) for cells, own in changes.items()}

    def _regular(self, known: Symbols, asked: Symbols) -> float:
        """Return how regularly the form asked for follows from the known one, from 0 to 1."""
        lemmas, regular = self._regularity.get((known, asked), (0, 0))
        one, other = set(known), set(asked)
        common = len(one & other) / max(1, len(one | other))
        return (regular + PRIOR * common) / (lemmas + PRIOR)
