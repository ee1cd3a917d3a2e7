"""Warnings about predictions, made from what a predictor returned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hardalign.cli.console import note, watched
from hardalign.data.formats import Example, training_pairs
from hardalign.data.text import plural, shorten
from hardalign.data.vocabulary import UnknownSymbols, symbol_counts
from hardalign.known_words import answered
from hardalign.prediction import Prediction
from hardalign.predictor import UNALIGNED, Predictor
from hardalign.search import MASS_BEAM_LIMIT, Search, cumulative_probability

CUT_OFF = "cut off at 4 times the length of the source"
SUSPECTS = 256
"""Words in which there may be such letters that are aligned together."""


class Remarks:
    """Collects warnings about predictions, to print them at the end."""

    def __init__(self, predictor: Predictor, nbest: int, mass: float | None) -> None:
        self._predictor, self._nbest, self._mass = predictor, nbest, mass
        self._tagged = "tags" in predictor.description.format.columns
        self._unknown = UnknownSymbols(predictor.description.vocabulary.source)
        self._unaligned: list[str] = []
        self._suspects: list[Example] = []
        self.items = self._sentences = self._untagged = 0
        self._cut_off: list[int] = []
        self._short: list[int] = []
        self._uncovered: list[int] = []

    def see(self, predictions: list[Prediction]) -> None:
        """Look at the predictions for the next item."""
        self.items += 1
        best = predictions[0]
        if best.origin == "lexicon" or not best.source:
            return
        self._unknown.counts.update(best.unknown)
        self._sentences += any(map(str.isspace, best.source.strip())) and not best.alpha.size
        self._untagged += self._tagged and not best.tags
        self._cut_off += [self.items for prediction in predictions if not prediction.finished]
        if len(predictions) < self._nbest:
            self._short.append(self.items)
        if self._mass is not None and cumulative_probability(predictions)[-1] < self._mass:
            self._uncovered.append(self.items)
        self._suspect(best)

    def _suspect(self, best: Prediction) -> None:
        """Keep a word in which the model seems to have looked past several letters."""
        if self._predictor.looks_past(best):
            self._suspects.append(answered(self._predictor, best))
        if len(self._suspects) == SUSPECTS:
            self._find_unaligned_letters()

    def _find_unaligned_letters(self) -> None:
        """Find runs of letters from which nothing came, by the words' best alignments."""
        for pair, alignment in self._predictor.align_pairs(self._suspects):
            if alignment and (runs := alignment.unaligned(UNALIGNED)):
                self._unaligned.append(f"{', '.join(map(shorten, runs))} in {shorten(pair.text)}")
        self._suspects = []

    def report(self) -> None:
        """Note what was seen, if anything was."""
        self._find_unaligned_letters()
        note(self._unknown.report())
        if self._sentences:
            blanks = ("source has blanks and was", "sources have blanks and were")
            what = "answered word by word; --text reads sentences"
            note(f"{plural(self._sentences, *blanks)} {what}")
        if self._untagged:
            note(
                f"{plural(self._untagged, 'source has', 'sources have')} no tags; the model was "
                "trained with tags, and guesses what is asked for"
            )
        if self._unaligned:
            shown = ", ".join(self._unaligned[:8]) + (", …" if len(self._unaligned) > 8 else "")
            count = plural(len(self._unaligned), "word", "words")
            note(f"{UNALIGNED} letters or more in a row produced nothing in {count}: {shown}")
        beam = f"covered to {self._mass} by a beam of {MASS_BEAM_LIMIT}"
        fewer = f"fewer than {self._nbest} predictions: the beam found no more"
        for items, one, more, what in (
            (self._cut_off, "prediction was", "predictions were", CUT_OFF),
            (self._short, "item has", "items have", fewer),
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
) -> list[Prediction]:
    """Predict items, show progress, and note what the model could not read or write.

    Where several models are asked, ``model`` is what messages call this one.
    """
    answers = predictor.answers(items, search, exact=False, threads=threads)
    what = f"words of {model}" if model else "words"
    predictions = [best for best, *_ in watched(answers, what, total=len(items))]
    unknown = UnknownSymbols(predictor.description.vocabulary.source)
    for prediction in predictions:
        unknown.counts.update(prediction.unknown)
    pairs = zip(items, predictions, strict=True)
    cut_off = [item for item, prediction in pairs if not prediction.finished]
    remark_on_items(predictor, items, unknown, cut_off, model)
    return predictions


def remark_on_items(
    predictor: Predictor,
    items: Sequence[Example],
    unknown: UnknownSymbols,
    cut_off: Sequence[Example],
    model: str | None = None,
) -> None:
    """Note what of items with references the model could not read, end or write."""
    missing = Counter[str]()
    unwritable = []
    for pair in training_pairs(items):
        if symbols := predictor.indexer.unwritable(pair):
            missing.update(symbols)
            unwritable.append(pair)
    remarks = [unknown.report()]
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
