"""What commands have to say about answers, at the end and on standard error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from hardalign.batches import cumulative_probability
from hardalign.cli.console import note, watched
from hardalign.data.formats import Example, training_pairs
from hardalign.data.text import plural, shorten
from hardalign.data.vocabulary import UnknownSymbols, Vocabulary, symbol_counts
from hardalign.predictor import Prediction, Predictor
from hardalign.search import MASS_BEAM_LIMIT, Search
from hardalign.systems.model import LENGTH_LIMIT
from hardalign.text.running import has_blank

CUT_OFF = f"cut off at {LENGTH_LIMIT} times the length of the source"


def best_predictions(
    predictor: Predictor,
    items: Sequence[Example],
    search: Search,
    threads: int,
    model: str | None = None,
) -> Iterator[Prediction]:
    """Predicts items, shows how that goes, and says what the model could not read or write.

    Where several models are asked, ``model`` is what messages call this one.
    """
    unknown = UnknownSymbols(predictor.description.vocabulary.source)
    answers = predictor.answers(items, search, exact=False, threads=threads)
    cut_off = []
    for item, (best, *_) in zip(
        items, watched(answers, f"words of {model}" if model else "words"), strict=True
    ):
        yield best
        unknown.counts.update(best.unknown)
        if not best.finished:
            cut_off.append(item)
    remark_on_items(predictor, items, unknown, cut_off, model)


def remark_on_items(
    predictor: Predictor,
    items: Sequence[Example],
    unknown: UnknownSymbols,
    cut_off: Sequence[Example],
    model: str | None = None,
) -> None:
    """Says of items with references what the model could not read, end or write, if anything."""
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


class Remarks:
    """Which items were not answered as one may expect."""

    def __init__(self, nbest: int, mass: float | None, vocabulary: Vocabulary) -> None:
        self._nbest, self._mass, self._vocabulary = nbest, mass, vocabulary
        self._sentences = self._untagged = self._items = 0
        self._cut_off: list[int] = []
        self._short: list[int] = []
        self._uncovered: list[int] = []

    def watch(self, examples: Iterable[Example]) -> Iterator[Example]:
        """Passes examples on, and counts those that look like sentences or lack their tags."""
        tagged = bool(self._vocabulary.source.tags)
        for example in examples:
            self._sentences += has_blank(example, self._vocabulary)
            self._untagged += tagged and bool(example.source) and not example.tags
            yield example

    def see(self, predictions: list[Prediction]) -> None:
        """Looks at the answer to the next item."""
        self._items += 1
        if predictions[0].origin == "lexicon":
            return
        self._cut_off += [self._items for prediction in predictions if not prediction.finished]
        if len(predictions) < self._nbest and predictions[0].source:
            self._short.append(self._items)
        if self._mass is not None and cumulative_probability(predictions)[-1] < self._mass:
            self._uncovered.append(self._items)

    def report(self) -> None:
        """Says what was seen, if anything was."""
        if self._sentences:
            note(
                f"{plural(self._sentences, 'source has', 'sources have')} blanks, which the model "
                "has never seen; if these are sentences, pronounce them as text, word by word "
                "(--text)"
            )
        if self._untagged:
            note(
                f"{plural(self._untagged, 'source has', 'sources have')} no tags; the model was "
                "trained with tags, and guesses what is asked for"
            )
        beam = f"covered to {self._mass} by a beam of {MASS_BEAM_LIMIT}"
        fewer = f"fewer than {self._nbest} predictions: the beam found no more"
        for items, one, more, what in (
            (self._cut_off, "prediction was", "predictions were", CUT_OFF),
            (self._short, "item has", "items have", fewer),
            (self._uncovered, "item was not", "items were not", beam),
        ):
            if items:
                note(f"{plural(len(items), one, more)} {what} (first: item {items[0]})")
