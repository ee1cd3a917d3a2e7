"""What `hardalign predict` has to say about its answers, at the end and on standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from hardalign.cli.console import note

if TYPE_CHECKING:
    from hardalign.data.example import Example
    from hardalign.data.vocabulary import Vocabulary
    from hardalign.jobs.known import Answer


class Remarks:
    """Which items were not answered as one may expect."""

    def __init__(self, nbest: int, mass: float | None, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._sentences = 0
        self._nbest = nbest
        self._mass = mass
        self._items = 0
        self._cut_off: list[int] = []
        self._short: list[int] = []
        self._uncovered: list[int] = []

    def watch(self, examples: Iterable[Example]) -> Iterator[Example]:
        """Passes examples on, and counts those that look like sentences to a model of words."""
        from hardalign.jobs.text import has_blank

        for example in examples:
            self._sentences += has_blank(example, self._vocabulary)
            yield example

    def see(self, answer: Answer) -> None:
        """Looks at the answer to the next item."""
        from hardalign.decoding import covered

        self._items += 1
        predictions = answer.predictions
        if answer.known:
            return
        self._cut_off += [self._items for prediction in predictions if not prediction.finished]
        if len(predictions) < self._nbest and predictions[0].source:
            self._short.append(self._items)
        if self._mass is not None and covered(predictions)[-1] < self._mass:
            self._uncovered.append(self._items)

    def report(self) -> None:
        """Says what was seen, if anything was."""
        from hardalign.jobs.text import BLANK_ADVICE

        if self._sentences:
            note(f"{self._sentences} {BLANK_ADVICE} (--text)")
        from hardalign.decoding import LENGTH_LIMIT, MASS_BEAM_LIMIT

        for items, what in (
            (
                self._cut_off,
                f"predictions were cut off at {LENGTH_LIMIT} times the length of the source",
            ),
            (
                self._short,
                f"items have fewer than {self._nbest} predictions: the beam found no more",
            ),
            (
                self._uncovered,
                f"items were not covered to {self._mass} by a beam of {MASS_BEAM_LIMIT}",
            ),
        ):
            if items:
                note(f"{len(items)} {what} (first: item {items[0]})")
