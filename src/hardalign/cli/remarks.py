"""Warnings about predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from hardalign.cli.console import note, watched
from hardalign.data.formats import Example, training_pairs
from hardalign.data.text import plural, shorten
from hardalign.data.vocabulary import symbol_counts, unknown_symbols
from hardalign.known_words import SKIPPED, is_blank, may_skip, skipped_letters
from hardalign.predictor import Predictor
from hardalign.search import (
    MASS_BEAM_LIMIT,
    NOTHING,
    Prediction,
    Search,
    cumulative_probability,
)

CUT_OFF = "cut off at 4 times the length of the source"
ALIGNED_AT_ONCE = 256
"""How many predictions that may have skipped letters are aligned at a time."""
SHOWN = 8
"""How many sources with skipped letters are listed."""


class Remarks:
    """Collects warnings about predictions, to print them at the end."""

    def __init__(self, predictor: Predictor, nbest: int, mass: float | None) -> None:
        self._predictor, self._nbest, self._mass = predictor, nbest, mass
        self._tagged = "tags" in predictor.description.format.columns
        self._unknown = Counter[str]()
        self.items = self._with_blanks = self._untagged = 0
        self._cut_off: list[int] = []
        self._too_few: list[int] = []
        self._uncovered: list[int] = []
        self._skipped: list[tuple[str, list[str]]] = []  # the first ones
        self._skipped_count = 0
        self._suspects: list[Prediction] = []

    def see(self, predictions: list[Prediction]) -> None:
        """Record the predictions for the next item."""
        self.items += 1
        best = predictions[0]
        if best.origin == "lexicon" or not best.source:
            return
        self._unknown.update(best.unknown)
        self._with_blanks += not best.alpha.size and any(map(is_blank, best.source.strip()))
        self._untagged += self._tagged and not best.tags
        self._cut_off += [self.items for prediction in predictions if not prediction.finished]
        if len(predictions) < self._nbest:
            self._too_few.append(self.items)
        if self._mass is not None and cumulative_probability(predictions)[-1] < self._mass:
            self._uncovered.append(self.items)
        if may_skip(best):
            self._suspects.append(replace(best, alpha=NOTHING.alpha))
        if len(self._suspects) == ALIGNED_AT_ONCE:
            self._find_skipped()

    def _find_skipped(self) -> None:
        found = skipped_letters(self._predictor, self._suspects)
        self._skipped += found[: SHOWN - len(self._skipped)]
        self._skipped_count += len(found)
        self._suspects.clear()

    def report(self) -> None:
        """Print the warnings."""
        self._find_skipped()
        note(unknown_symbols(self._unknown))
        if self._with_blanks:
            blanks = "source has blanks and was", "sources have blanks and were"
            what = "answered word by word; --text reads sentences"
            note(f"{plural(self._with_blanks, *blanks)} {what}")
        if self._untagged:
            count = plural(self._untagged, "source has", "sources have")
            note(f"{count} no tags, but the model was trained with tags")
        if self._skipped:
            words = [
                f"{', '.join(map(shorten, runs))} in {shorten(t)}" for t, runs in self._skipped
            ]
            count = plural(self._skipped_count, "word", "words")
            where = ", ".join(words) + (", …" if self._skipped_count > SHOWN else "")
            note(f"{SKIPPED} letters or more in a row produced nothing in {count}: {where}")
        beam = f"covered to {self._mass} by a beam of {MASS_BEAM_LIMIT}"
        fewer = f"fewer than {self._nbest} predictions: the beam found no more"
        for items, one, more, what in (
            (self._cut_off, "prediction was", "predictions were", CUT_OFF),
            (self._too_few, "item has", "items have", fewer),
            (self._uncovered, "item was not", "items were not", beam),
        ):
            if items:
                note(f"{plural(len(items), one, more)} {what} (first: item {items[0]})")


def best_predictions(
    predictor: Predictor,
    items: Sequence[Example],
    search: Search,
    threads: int,
    model: str | None = None,
    alphas: bool = False,
) -> list[Prediction]:
    """Predict items with a progress bar, and warn of symbols the model cannot read or write.

    Warnings start with the name of the ``model``, if given. Unless ``alphas`` is set, alphas are
    dropped, since those of a large file take most of the memory.
    """
    answers = predictor.answers(items, search, exact=False, threads=threads)
    what = f"words of {model}" if model else "words"
    predictions = [
        best if alphas else replace(best, alpha=NOTHING.alpha)
        for best, *_ in watched(answers, what, total=len(items))
    ]
    pairs = zip(items, predictions, strict=True)
    cut_off = [item for item, prediction in pairs if not prediction.finished]
    remark_on_items(predictor, items, cut_off, model)
    return predictions


def remark_on_items(
    predictor: Predictor,
    items: Sequence[Example],
    cut_off: Sequence[Example],
    model: str | None = None,
) -> None:
    """Warn of unknown symbols, cut-off predictions and references that cannot be written."""
    unknown = Counter(symbol for item in items for symbol in predictor.unknown(item))
    missing = Counter[str]()
    unwritable = []
    for pair in training_pairs(items):
        if symbols := predictor.indexer.unwritable(pair):
            missing.update(symbols)
            unwritable.append(pair)
    remarks = [unknown_symbols(unknown)]
    if cut_off:
        count = plural(len(cut_off), "prediction was", "predictions were")
        remarks.append(f"{count} {CUT_OFF} (first: {shorten(cut_off[0].text)})")
    if unwritable:
        count = plural(len(unwritable), "reference has", "references have")
        remarks.append(
            f"{count} symbols that the model has never seen in a target, and cannot write "
            f"(first: {shorten(unwritable[0].text)}): {symbol_counts(missing)}"
        )
    for remark in filter(None, remarks):
        note(f"{model}: {remark}" if model else remark)
