"""What went wrong: which symbols a model confuses, where, and how sure it was."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

from hardalign.data.example import Example, Symbols, training_pairs
from hardalign.data.vocabulary import UnknownSymbols
from hardalign.decoding import Search
from hardalign.notation import BEGIN, END

if TYPE_CHECKING:
    from hardalign.alignment import Alignment
    from hardalign.predictor import Predictor

SlipKind = Literal["wrong", "missing", "added"]
LISTED = 20
"""Items in each list of single words."""
KEPT = 5
"""Words kept as examples of a confusion."""
_WINDOW = 512


class Outcome(NamedTuple):
    """One prediction beside the closest of its references."""

    example: Example
    predicted: Symbols
    expected: Symbols
    probability: float
    """That the model gives to its prediction."""
    predicted_from: tuple[int, ...] = ()
    """Of errors: the column (begin, tags, source, end) that each predicted symbol comes from."""
    expected_from: tuple[int, ...] = ()
    """The same for the reference; empty if the model cannot spell it."""

    @property
    def correct(self) -> bool:
        """Says whether it is one of the references."""
        return self.predicted == self.expected

    @property
    def columns(self) -> Symbols:
        """Returns what the columns stand for."""
        return (BEGIN, *self.example.tags, *self.example.source, END)

    def context(self, column: int) -> tuple[str, str]:
        """Returns a column's symbol, and the same between its neighbours: ``o[u]g``."""
        columns = self.columns
        symbol = columns[column]
        first = 1 + len(self.example.tags)
        if not first <= column < len(columns) - 1:
            return symbol, symbol
        left = columns[column - 1] if column > first else BEGIN
        return symbol, f"{left}[{symbol}]{columns[column + 1]}"


class Slip(NamedTuple):
    """One symbol that is wrong, missing, or added."""

    kind: SlipKind
    predicted: str
    """Empty if missing."""
    expected: str
    """Empty if added."""
    column: int | None
    """Where in the source it comes from: what was expected if there was something, else what was
    added. None if that is not known."""


@dataclass
class Confusion:
    """The same slip in several words."""

    kind: SlipKind
    predicted: str
    expected: str
    count: int = 0
    letters: Counter[str] = field(default_factory=Counter)
    """The source symbols it came from."""
    contexts: Counter[str] = field(default_factory=Counter)
    """The same between their neighbours."""
    tags: Counter[str] = field(default_factory=Counter)
    words: list[Outcome] = field(default_factory=list)
    """The first ones."""

    def see(self, outcome: Outcome, slip: Slip) -> None:
        """Counts one more."""
        self.count += 1
        if slip.column is not None:
            letter, context = outcome.context(slip.column)
            self.letters[letter] += 1
            self.contexts[context] += 1
        self.tags.update(outcome.example.tags)
        if len(self.words) < KEPT and (not self.words or self.words[-1] is not outcome):
            self.words.append(outcome)

    def __str__(self) -> str:
        if self.kind == "wrong":
            return f"{self.predicted} for {self.expected}"
        return f"{self.expected} missing" if self.kind == "missing" else f"{self.predicted} added"


@dataclass
class Group:
    """Items that have something in common."""

    n: int = 0
    wrong: int = 0

    @property
    def share(self) -> float:
        """Returns the percentage that is wrong."""
        return 100 * self.wrong / self.n


class Doubt(NamedTuple):
    """A pair of the file that the model finds improbable: perhaps an error in the data."""

    example: Example
    log_prob: float


@dataclass
class ErrorReport:
    """Everything about the errors of a model on a file."""

    n: int = 0
    wrong: int = 0
    slips: int = 0
    confusions: list[Confusion] = field(default_factory=list)
    """Commonest first."""
    lengths: dict[str, Group] = field(default_factory=dict)
    """By symbols of the source."""
    confidence: dict[str, Group] = field(default_factory=dict)
    """By the probability of the prediction."""
    tags: dict[str, Group] = field(default_factory=dict)
    unsure_right: list[Outcome] = field(default_factory=list)
    """Least confident first."""
    sure_wrong: list[Outcome] = field(default_factory=list)
    """Most confident first."""
    doubts: list[Doubt] = field(default_factory=list)
    """Least probable first."""


def find_errors(
    predictor: Predictor,
    items: Sequence[Example],
    *,
    unknown: UnknownSymbols | None = None,
    threads: int = 1,
) -> ErrorReport:
    """Predicts items, as ``evaluation_items`` makes them, greedily and looks at what is wrong."""
    report = ErrorReport()
    confusions: dict[tuple[SlipKind, str, str], Confusion] = {}
    right: list[Outcome] = []
    wrong: list[Outcome] = []
    for outcome in _outcomes(predictor, items, unknown, threads):
        (right if outcome.correct else wrong).append(outcome)
        for groups, name in (
            (report.lengths, _length(outcome)),
            (report.confidence, _confidence(outcome)),
            *((report.tags, tag) for tag in outcome.example.tags),
        ):
            group = groups.setdefault(name, Group())
            group.n += 1
            group.wrong += not outcome.correct
        for slip in slips(outcome):
            key = slip.kind, slip.predicted, slip.expected
            confusions.setdefault(key, Confusion(*key)).see(outcome, slip)
            report.slips += 1
    report.n, report.wrong = len(items), len(wrong)
    report.confusions = sorted(confusions.values(), key=lambda one: -one.count)
    report.lengths = dict(sorted(report.lengths.items()))
    report.confidence = dict(sorted(report.confidence.items()))
    report.tags = dict(sorted(report.tags.items(), key=lambda one: -one[1].share))
    report.unsure_right = heapq.nsmallest(LISTED, right, key=lambda one: one.probability)
    report.sure_wrong = heapq.nlargest(LISTED, wrong, key=lambda one: one.probability)
    pairs = list(training_pairs(items))
    scores = map(math.fsum, predictor.score(pairs, threads=threads))
    doubts = map(Doubt, pairs, scores)
    report.doubts = heapq.nsmallest(LISTED, doubts, key=lambda one: one.log_prob)
    return report


def slips(outcome: Outcome) -> Iterator[Slip]:
    """Yields what must be changed in a prediction to get the reference, with the fewest changes."""
    predicted, expected = outcome.predicted, outcome.expected
    for operation in Levenshtein.editops(predicted, expected):
        i, j = operation.src_pos, operation.dest_pos
        if operation.tag == "delete":
            yield Slip("added", predicted[i], "", _at(outcome.predicted_from, i))
        elif operation.tag == "insert":
            yield Slip("missing", "", expected[j], _at(outcome.expected_from, j))
        else:
            yield Slip("wrong", predicted[i], expected[j], _at(outcome.expected_from, j))


def _at(columns: Sequence[int], position: int) -> int | None:
    return columns[position] if columns else None


def _outcomes(
    predictor: Predictor, items: Sequence[Example], unknown: UnknownSymbols | None, threads: int
) -> Iterator[Outcome]:
    """Yields each outcome; those that are wrong have their alignments."""
    answers = predictor.answers(items, Search(), unknown=unknown, exact=True, threads=threads)
    stream = zip(items, answers, strict=True)
    while window := list(islice(stream, _WINDOW)):
        outcomes = [
            Outcome(item, best.symbols, _closest(best.symbols, item), math.exp(best.log_prob))
            for item, (best, *_) in window
        ]
        pairs = [
            replace(one.example, targets=(target,))
            for one in outcomes
            if not one.correct
            for target in (one.predicted, one.expected)
        ]
        alignments = (
            _columns(alignment) for _, alignment in predictor.align_pairs(pairs, threads=threads)
        )
        for one in outcomes:
            if one.correct:
                yield one
            else:
                yield one._replace(predicted_from=next(alignments), expected_from=next(alignments))
        next(alignments, None)  # ends them and their threads here, where signals are heard


def _columns(alignment: Alignment | None) -> tuple[int, ...]:
    return () if alignment is None else tuple(alignment.best)


def _closest(predicted: Symbols, item: Example) -> Symbols:
    """Returns the closest reference, the longest of several, as ``hardalign.metrics`` does."""
    return min(item.targets, key=lambda one: (Levenshtein.distance(predicted, one), -len(one)))


def _length(outcome: Outcome) -> str:
    length = len(outcome.example.source)
    return f"{length:2d}" if length < 16 else "16 and more"


def _confidence(outcome: Outcome) -> str:
    tenth = min(9, int(outcome.probability * 10))
    return f"{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}"
