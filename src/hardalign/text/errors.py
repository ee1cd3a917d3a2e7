"""What went wrong: which symbols a model confuses, where, and how sure it was."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from hardalign.alignment import BEGIN, END
from hardalign.data.formats import Example, evaluation_items, training_pairs
from hardalign.data.text import Symbols
from hardalign.data.vocabulary import UnknownSymbols
from hardalign.predictor import Predictor
from hardalign.search import Search

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
    finished: bool = True
    """Whether the prediction came to an end, and was not cut off."""
    read: Example | None = None
    """The example as the model read it, if that is not as it stands in the file."""

    @property
    def correct(self) -> bool:
        """Says whether it is one of the references."""
        return self.predicted == self.expected

    @property
    def columns(self) -> Symbols:
        """Returns what the columns stand for."""
        read = self.read or self.example
        return (BEGIN, *read.tags, *read.source, END)

    @property
    def letters(self) -> range:
        """Returns the columns of source symbols."""
        return range(1 + len((self.read or self.example).tags), len(self.columns) - 1)

    def context(self, column: int) -> tuple[str, str]:
        """Returns a column's symbol, and the same between its neighbours: ``o[u]g``."""
        symbol = self.columns[column]
        if column not in self.letters:
            return symbol, symbol
        left = self.columns[column - 1] if column > self.letters.start else BEGIN
        return symbol, f"{left}[{symbol}]{self.columns[column + 1]}"


class Slip(NamedTuple):
    """One symbol that is wrong, missing, or added."""

    predicted: str
    """Empty if the symbol is missing."""
    expected: str
    """Empty if the symbol is added."""

    @property
    def kind(self) -> str:
        """Returns "wrong", "missing" or "added"."""
        if self.predicted and self.expected:
            return "wrong"
        return "missing" if self.expected else "added"

    def __str__(self) -> str:
        if self.kind == "wrong":
            return f"{self.predicted} for {self.expected}"
        return f"{self.predicted or self.expected} {self.kind}"


@dataclass
class Confusion:
    """The same slip in several words."""

    slip: Slip
    count: int = 0
    letters: Counter[str] = field(default_factory=Counter)
    """The source symbols it came from."""
    contexts: Counter[str] = field(default_factory=Counter)
    """The same between their neighbours."""
    tags: Counter[str] = field(default_factory=Counter)
    words: list[Outcome] = field(default_factory=list)
    """The first ones."""

    def add(self, outcome: Outcome, column: int | None) -> None:
        """Counts the slip once more, in a word whose ``column`` it comes from, if that is known."""
        self.count += 1
        if column is not None:
            letter, context = outcome.context(column)
            self.letters[letter] += 1
            self.contexts[context] += 1
        self.tags.update(outcome.example.tags)
        if len(self.words) < KEPT and (not self.words or self.words[-1] is not outcome):
            self.words.append(outcome)


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


@dataclass(frozen=True)
class ErrorReport:
    """Everything about the errors of a model on a file."""

    n: int
    wrong: int
    slips: int
    confusions: list[Confusion]
    """Commonest first."""
    lengths: dict[str, Group]
    """By symbols of the source."""
    confidence: dict[str, Group]
    """By the probability of the prediction."""
    tags: dict[str, Group]
    """Most often wrong first."""
    sure_wrong: list[Outcome]
    """Most confident first."""
    unsure_right: list[Outcome]
    """Least confident first."""
    doubts: list[Doubt]
    """Least probable first."""
    cut_off: list[Example]
    """Items whose prediction the length limit cut off."""


def find_errors(
    predictor: Predictor,
    examples: Sequence[Example],
    *,
    unknown: UnknownSymbols | None = None,
    threads: int = 1,
) -> ErrorReport:
    """Predicts the sources of examples, each once, greedily and looks at what is wrong."""
    items = evaluation_items(examples)
    confusions: dict[Slip, Confusion] = {}
    lengths, confidence, tags = (defaultdict[str, Group](Group) for _ in range(3))
    right: list[Outcome] = []
    wrong: list[Outcome] = []
    cut_off: list[Example] = []
    for outcome in _outcomes(predictor, items, unknown, threads):
        (right if outcome.correct else wrong).append(outcome)
        if not outcome.finished:
            cut_off.append(outcome.example)
        groups = [lengths[_length(outcome)], confidence[_confidence(outcome)]]
        for group in groups + [tags[tag] for tag in outcome.example.tags]:
            group.n += 1
            group.wrong += not outcome.correct
        for slip, column in slips(outcome):
            confusions.setdefault(slip, Confusion(slip)).add(outcome, column)
    # Each pair once, where it stands in the file first.
    distinct = {(pair.key, pair.targets): pair for pair in reversed([*training_pairs(examples)])}
    pairs = sorted(distinct.values(), key=lambda pair: pair.line)
    scores = map(math.fsum, predictor.score(pairs, threads=threads))
    doubts = map(Doubt, pairs, scores)
    return ErrorReport(
        n=len(items),
        wrong=len(wrong),
        slips=sum(confusion.count for confusion in confusions.values()),
        confusions=sorted(confusions.values(), key=lambda confusion: -confusion.count),
        lengths=dict(sorted(lengths.items())),
        confidence=dict(sorted(confidence.items())),
        tags=dict(sorted(tags.items(), key=lambda item: -item[1].share)),
        sure_wrong=heapq.nlargest(LISTED, wrong, key=lambda outcome: outcome.probability),
        unsure_right=heapq.nsmallest(LISTED, right, key=lambda outcome: outcome.probability),
        doubts=heapq.nsmallest(LISTED, doubts, key=lambda doubt: doubt.log_prob),
        cut_off=cut_off,
    )


def slips(outcome: Outcome) -> Iterator[tuple[Slip, int | None]]:
    """Yields what must be changed in a prediction to get the reference, with the fewest changes.

    With each comes the column that the expected symbol comes from, or where none was expected the
    added one; None if that is not known.
    """
    for operation in Levenshtein.editops(outcome.predicted, outcome.expected):
        i, j = operation.src_pos, operation.dest_pos
        predicted = "" if operation.tag == "insert" else outcome.predicted[i]
        expected = "" if operation.tag == "delete" else outcome.expected[j]
        columns = outcome.expected_from if expected else outcome.predicted_from
        yield Slip(predicted, expected), (columns[j if expected else i] if columns else None)


def _outcomes(
    predictor: Predictor, items: Sequence[Example], unknown: UnknownSymbols | None, threads: int
) -> Iterator[Outcome]:
    """Yields each outcome; those that are wrong have their alignments."""
    if unknown is not None:
        for item in items:
            unknown.note(item)
    answers = predictor.answers(items, Search(), exact=True, threads=threads)
    stream = zip(items, answers, strict=True)
    while window := list(islice(stream, _WINDOW)):
        outcomes = [
            Outcome(
                item,
                best.symbols,
                _closest(best.symbols, item),
                math.exp(best.log_prob),
                finished=best.finished,
                read=predictor.as_read(item),
            )
            for item, (best,) in window
        ]
        pairs = [
            replace(outcome.example, targets=(target,))
            for outcome in outcomes
            if not outcome.correct
            for target in (outcome.predicted, outcome.expected)
        ]
        columns = (
            tuple(alignment.best) if alignment else ()
            for _, alignment in predictor.align_pairs(pairs, threads=threads)
        )
        for outcome in outcomes:
            if outcome.correct:
                yield outcome
            else:
                yield outcome._replace(predicted_from=next(columns), expected_from=next(columns))
        next(columns, None)  # ends them and their threads here, where signals are heard


def _closest(predicted: Symbols, item: Example) -> Symbols:
    """Returns the closest reference, the longest of several, as ``hardalign.metrics`` does."""
    return min(item.targets, key=lambda t: (Levenshtein.distance(predicted, t), -len(t)))


def _length(outcome: Outcome) -> str:
    length = len(outcome.example.source)
    return f"{length:2d}" if length < 16 else "16 and more"


def _confidence(outcome: Outcome) -> str:
    tenth = min(9, int(outcome.probability * 10))
    return f"{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}"
