"""A trained model's answers to streams of examples, of any length, in constant memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Any

from hardalign.alignment import Alignment
from hardalign.data.encoding import Encoded
from hardalign.data.example import Example
from hardalign.data.vocabulary import UNKNOWN, UnknownSymbols
from hardalign.decoding import Aligned, Answer, Search, align, answer, estimate, symbol_scores
from hardalign.errors import HardalignError
from hardalign.model_folder import Description
from hardalign.options import numbering
from hardalign.prediction import NOTHING, Prediction
from hardalign.runtime import Runtime
from hardalign.systems import SCORES, System, find_system

Work = Callable[[Iterator[Encoded]], Iterator[list[Answer]]]
"""From source words to the strings that a search finds for each."""


class StreamPredictor:
    """A model with its vocabulary and format; ``Predictor`` adds what takes single strings."""

    def __init__(
        self, runtime: Runtime[Any, Any], description: Description, parameters: int = 0
    ) -> None:
        self._runtime = runtime
        self.description = description
        """The model's settings, format, vocabulary and data."""
        self.parameters = parameters
        """How many numbers the model has learned."""
        self.numbering = numbering(description.model, description.vocabulary, description.format)
        """How the model numbers what it reads and writes."""

    @property
    def system(self) -> System:
        """The row of the model's system: what its scores and its alignments are."""
        return find_system(self.description.model.system)

    def as_read(self, example: Example) -> Example:
        """Returns an example as the model reads it: with known forms beside it, if it has any.

        The columns of alphas and alignments are those of what this returns.
        """
        forms = self.description.known_forms
        return example if forms is None else forms.beside(example)

    def answers(
        self,
        examples: Iterable[Example],
        search: Search,
        *,
        unknown: UnknownSymbols | None = None,
        alignments: bool = False,
        exact: bool = True,
        threads: int = 1,
    ) -> Iterator[list[Prediction]]:
        """Answers a stream of any length in constant memory, in its own order.

        Args:
            examples: What to predict; one without source symbols gets one empty prediction.
            search: What to look for.
            unknown: Counts the symbols that the model has never seen.
            alignments: Align each prediction with its source.
            exact: Make every ``log_prob`` exact; else a search may leave out what hardly counts.
            threads: How many batches of words to work on at a time.

        Yields:
            For each example its strings: best first, or samples in the order drawn.

        Raises:
            HardalignError: If probability mass is asked for and the model's scores are not exact.
        """
        if search.mass is not None and self.system.score != "exact":
            raise HardalignError(
                f"no probability mass can be covered: the scores of {self.description.model.system}"
                f" are not exact probabilities ({SCORES[self.system.score]})"
            )
        work = partial(
            answer,
            self._runtime,
            search=search,
            exact=exact,
            alignments=alignments,
            threads=threads,
        )
        return self._answers(examples, unknown, work)

    def _answers(
        self, examples: Iterable[Example], unknown: UnknownSymbols | None, work: Work
    ) -> Iterator[list[Prediction]]:
        # What was read: the blank lines before each example, itself, and as the model reads it.
        waiting: deque[tuple[int, Example, Example]] = deque()
        blank = 0

        def sources() -> Iterator[Encoded]:
            nonlocal blank
            for example in examples:
                if not example.source:
                    blank += 1
                    continue
                read = self.as_read(example)
                waiting.append((blank, example, read))
                blank = 0
                if unknown is not None:
                    unknown.note(example)
                yield self.numbering.source(read)

        for own in work(sources()):
            blank_before, example, read = waiting.popleft()
            yield from repeat([NOTHING], blank_before)
            yield [self._prediction(example, read, one) for one in own]
        yield from repeat([NOTHING], blank)

    def score(self, pairs: Iterable[Example], *, threads: int = 1) -> Iterator[list[float]]:
        """Scores a stream of pairs in constant memory, in its own order.

        Args:
            pairs: Examples of one target each, as ``training_pairs`` makes them.
            threads: How many batches of pairs to work on at a time.

        Yields:
            log p(y_i | y_<i, x) of each target symbol and the end, whose sum is log p(y | x). From
            a symbol on that the model cannot write, −inf.
        """
        return symbol_scores(self._runtime, self._encoded(pairs), threads)

    def estimate(
        self, pairs: Iterable[Example], particles: int, *, seed: int = 0
    ) -> Iterator[float]:
        """Estimates log p(y | x) of pairs where it cannot be computed: by particles.

        The mean weight of the particles is an unbiased estimate of p(y | x), so that its logarithm
        is a little too low on average, and less so with more of them.

        Args:
            pairs: Examples of one target each, as ``training_pairs`` makes them.
            particles: How many to follow for each pair.
            seed: A pair at the same place gets the same estimate again.

        Yields:
            A natural logarithm for each pair; −inf if its target cannot be spelled.

        Raises:
            HardalignError: If the model's scores need no estimate, if it is an ensemble, or if it
                answers at a temperature, which is none of the model's.
        """
        if self.system.score != "decoding rule":
            raise HardalignError(
                f"{self.description.model.system} needs no particles; only hard-feed and "
                "hard-feed-reinforce do"
            )
        if self.description.members > 1:
            raise HardalignError(
                "particles estimate what one model learned: give a member's folder"
            )
        if self.description.temperature != 1:
            raise HardalignError("particles estimate what was learned: load at temperature 1")
        if particles < 1:
            raise HardalignError(f"there must be at least 1 particle, not {particles}")
        return (
            estimate(self._runtime, pair, particles, (seed, place))
            for place, pair in enumerate(self._encoded(pairs))
        )

    def align_pairs(
        self, pairs: Iterable[Example], *, threads: int = 1
    ) -> Iterator[tuple[Example, Alignment | None]]:
        """Aligns a stream of pairs in constant memory, in its own order.

        Args:
            pairs: Examples of one target each, as ``training_pairs`` makes them.
            threads: How many batches of pairs to work on at a time.

        Yields:
            Each pair and its alignment; None where the target has symbols that the model cannot
            write (``numbering.unwritable``).
        """
        # Each pair, and as the model reads it; None where it cannot write the target.
        waiting: deque[tuple[Example, Example | None]] = deque()

        def spellable() -> Iterator[Encoded]:
            for pair in pairs:
                read = self.as_read(pair)
                encoded = self.numbering.pair(read)
                if UNKNOWN in encoded.target:
                    waiting.append((pair, None))
                else:
                    waiting.append((pair, read))
                    yield encoded

        for aligned in align(self._runtime, spellable(), threads):
            pair, read = waiting.popleft()
            while read is None:
                yield pair, None
                pair, read = waiting.popleft()
            yield pair, self._alignment(read, aligned)
        yield from ((pair, None) for pair, _ in waiting)

    def _encoded(self, pairs: Iterable[Example]) -> Iterator[Encoded]:
        return (self.numbering.pair(self.as_read(pair)) for pair in pairs)

    def _prediction(self, example: Example, read: Example, string: Answer) -> Prediction:
        """Returns an answer to an example, which the model has ``read``."""
        vocabulary, hypothesis = self.description.vocabulary, string.hypothesis
        strangers = self.numbering.strangers_of(read.source)
        symbols = vocabulary.target.decode(hypothesis.symbols, strangers)
        alignment = None
        if string.alignment is not None:
            alignment = self._alignment(replace(read, targets=(symbols,)), string.alignment)
        return Prediction(
            example.text,
            self.description.format.join_target(symbols),
            symbols,
            hypothesis.log_prob,
            hypothesis.finished,
            hypothesis.alpha[:, : len(read.tags) + len(read.source) + 2],
            alignment,
            tuple(vocabulary.source.unknown(example.source, example.tags)),
        )

    def _alignment(self, pair: Example, aligned: Aligned) -> Alignment:
        """Returns the alignment of a pair that the model has read."""
        strings = pair.source, pair.targets[0], pair.tags
        kind, system = self.system.alignment, self.description.model.system
        return Alignment(*strings, aligned.weights, kind, system, aligned.path)
