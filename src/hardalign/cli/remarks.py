"""What `hardalign predict` has to say about its answers, at the end and on standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hardalign.cli.console import note
from hardalign.data.example import Example
from hardalign.data.text import many
from hardalign.data.vocabulary import Vocabulary
from hardalign.decoding import LENGTH_LIMIT, MASS_BEAM_LIMIT, covered
from hardalign.jobs.known import Answer
from hardalign.jobs.text import has_blank


class Remarks:
    """Which items were not answered as one may expect."""

    def __init__(self, nbest: int, mass: float | None, vocabulary: Vocabulary) -> None:
        self._nbest, self._mass, self._vocabulary = nbest, mass, vocabulary
        self._sentences = self._items = 0
        self._cut_off: list[int] = []
        self._short: list[int] = []
        self._uncovered: list[int] = []

    def watch(self, examples: Iterable[Example]) -> Iterator[Example]:
        """Passes examples on, and counts those that look like sentences to a model of words."""
        for example in examples:
            self._sentences += has_blank(example, self._vocabulary)
            yield example

    def see(self, answer: Answer) -> None:
        """Looks at the answer to the next item."""
        self._items += 1
        if answer.known:
            return
        predictions = answer.predictions
        self._cut_off += [self._items for prediction in predictions if not prediction.finished]
        if len(predictions) < self._nbest and predictions[0].source:
            self._short.append(self._items)
        if self._mass is not None and covered(predictions)[-1] < self._mass:
            self._uncovered.append(self._items)

    def report(self) -> None:
        """Says what was seen, if anything was."""
        if self._sentences:
            note(
                f"{many(self._sentences, 'source has', 'sources have')} blanks, which the model "
                "has never seen; if these are sentences, pronounce them as text, word by word "
                "(--text)"
            )
        limit = f"cut off at {LENGTH_LIMIT} times the length of the source"
        beam = f"covered to {self._mass} by a beam of {MASS_BEAM_LIMIT}"
        fewer = f"fewer than {self._nbest} predictions: the beam found no more"
        for items, one, more, what in (
            (self._cut_off, "prediction was", "predictions were", limit),
            (self._short, "item has", "items have", fewer),
            (self._uncovered, "item was not", "items were not", beam),
        ):
            if items:
                note(f"{many(len(items), one, more)} {what} (first: item {items[0]})")
