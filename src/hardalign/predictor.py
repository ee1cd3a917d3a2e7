"""A trained model as its users meet it: strings in, strings out."""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hardalign.alignment import Alignment
from hardalign.bundled import model_folder
from hardalign.data.encoding import Encoded, encode_pair, encode_source
from hardalign.data.example import Example
from hardalign.data.vocabulary import UNKNOWN, UnknownSymbols
from hardalign.decoding import (
    Aligned,
    Answer,
    Search,
    align,
    answer,
    estimate,
    sample_alignments,
    symbol_scores,
)
from hardalign.errors import HardalignError
from hardalign.folder import Description, load_members
from hardalign.prediction import NOTHING, Prediction
from hardalign.runtime import Runtime, build_members
from hardalign.shapes import ALIGNER_TABLE
from hardalign.systems import SCORES, System, find_system

FREED = (1 << 25) - (1 << 16)
"""Bytes; from 32 MB on the C library takes no notice."""
Work = Callable[[Iterator[Encoded]], Iterator[list[Answer]]]
"""From source words to the strings that a search finds for each."""


class UnknownSymbolsWarning(UserWarning):
    """A source has symbols that the model has never seen, and reads as unknown."""


class Predictor:
    """A model with its vocabulary and format, as ``load`` gives it.

    >>> g2p = hardalign.load("en-g2p")
    >>> g2p("action").text
    'AE1 K SH AH0 N'
    """

    def __init__(
        self, runtime: Runtime[Any, Any], description: Description, parameters: int = 0
    ) -> None:
        self._runtime = runtime
        self.description = description
        """The model's settings, format, vocabulary and data."""
        self.parameters = parameters
        """How many numbers the model has learned."""

    @property
    def system(self) -> System:
        """The row of the model's system: what its scores and its alignments are."""
        return find_system(self.description.model.system)

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, source: str, *, beam: int | None = None, nbest: None = None
    ) -> Prediction: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, source: str, *, beam: int | None = None, nbest: int
    ) -> list[Prediction]: ...
    @overload
    def __call__(
        self, source: Iterable[str], *, beam: int | None = None, nbest: None = None
    ) -> list[Prediction]: ...
    @overload
    def __call__(
        self, source: Iterable[str], *, beam: int | None = None, nbest: int
    ) -> list[list[Prediction]]: ...
    def __call__(
        self, source: str | Iterable[str], *, beam: int | None = None, nbest: int | None = None
    ) -> Prediction | list[Prediction] | list[list[Prediction]]:
        """Predicts one string, or each of several.

        >>> g2p("read", nbest=2)[1].text
        'R EH1 D'

        Args:
            source: One or more; for a model trained with tags, each is ``lemma<TAB>TAG;TAG``.
            beam: Hypotheses followed side by side. Default: 1 (greedy), for ``nbest`` more.
            nbest: Give a list of so many different strings, best first; fewer if no more are found.

        Warns:
            UnknownSymbolsWarning: If a source has symbols that the model has never seen.
        """
        search = Search(beam=beam, nbest=nbest)
        texts = [source] if isinstance(source, str) else source
        unknown = UnknownSymbols(self.description.vocabulary.source)
        examples = (self.example(text) for text in texts)
        lists = list(self.answers(examples, search, unknown=unknown))
        _warn(unknown)
        answers = lists if nbest is not None else [best for (best,) in lists]
        return answers[0] if isinstance(source, str) else answers

    def sample(self, source: str, samples: int, *, seed: int = 0) -> list[Prediction]:
        """Draws strings from the model's distribution, independently: some may be equal."""
        search = Search(samples=samples, seed=seed)
        return next(self.answers([self.example(source)], search))

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
        waiting: deque[tuple[int, Example]] = deque()  # read, with the blank lines before each
        blank = 0

        def sources() -> Iterator[Encoded]:
            nonlocal blank
            for example in examples:
                if not example.source:
                    blank += 1
                    continue
                waiting.append((blank, example))
                blank = 0
                if unknown is not None:
                    unknown.note(example)
                yield encode_source(example, self.description.vocabulary)

        for own in work(sources()):
            blank_before, example = waiting.popleft()
            yield from repeat([NOTHING], blank_before)
            yield [self._prediction(example, one) for one in own]
        yield from repeat([NOTHING], blank)

    def score(self, pairs: Iterable[Example], *, threads: int = 1) -> Iterator[list[float]]:
        """Scores a stream of pairs in constant memory, in its own order.

        Args:
            pairs: Examples of one target each, as ``training_pairs`` makes them.
            threads: How many batches of pairs to work on at a time.

        Yields:
            log p(y_i | y_<i, x) of each target symbol and the end, whose sum is log p(y | x). From
            a symbol on that the model has never seen, −inf.
        """
        return symbol_scores(self._runtime, self._encoded(pairs), threads)

    def log_prob(self, source: str, target: str) -> float:
        """Returns log p(target | source), natural logarithm; −inf if it cannot be spelled."""
        return math.fsum(next(self.score([self._pair(source, target)])))

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

    def align(self, source: str, target: str) -> Alignment:
        """Returns which source symbol each symbol of a given target came from.

        Raises:
            HardalignError: If the target has a symbol that the model has never seen.
        """
        pair = self._spellable(source, target)
        (_, alignment) = next(self.align_pairs([pair]))
        assert alignment is not None  # it can be spelled
        return alignment

    def align_pairs(
        self, pairs: Iterable[Example], *, threads: int = 1
    ) -> Iterator[tuple[Example, Alignment | None]]:
        """Aligns a stream of pairs in constant memory, in its own order.

        Args:
            pairs: Examples of one target each, as ``training_pairs`` makes them.
            threads: How many batches of pairs to work on at a time.

        Yields:
            Each pair and its alignment; None where the target has symbols never seen in training.
        """
        waiting: deque[tuple[Example, bool]] = deque()

        def spellable() -> Iterator[Encoded]:
            for pair in pairs:
                encoded = encode_pair(pair, self.description.vocabulary)
                waiting.append((pair, UNKNOWN not in encoded.target))
                if waiting[-1][1]:
                    yield encoded

        for aligned in align(self._runtime, spellable(), threads):
            while not waiting[0][1]:
                yield waiting.popleft()[0], None
            pair, _ = waiting.popleft()
            yield pair, self._alignment(pair, aligned)
        yield from ((pair, None) for pair, _ in waiting)

    def sample_alignments(
        self, source: str, target: str, n: int, *, seed: int = 0
    ) -> NDArray[np.int64]:
        """Draws whole alignments of a pair from p(a | x, y), exactly.

        Args:
            source: The source string.
            target: A target that the model can spell.
            n: How many to draw.
            seed: The same seed gives the same samples.

        Returns:
            [n, target symbols] columns of an alignment's ``weights``, as its ``best`` has them.

        Raises:
            HardalignError: If the system has no distribution over alignments.
        """
        pair = self._spellable(source, target)
        encoded = encode_pair(pair, self.description.vocabulary)
        noise = np.random.default_rng(seed).random((len(encoded.target), n))
        return np.asarray(sample_alignments(self._runtime, encoded, noise)[:-1].T, np.int64)

    def example(self, text: str) -> Example:
        """Cuts a source string into symbols as the training data was cut.

        Raises:
            HardalignError: If it has no symbols, or no tags although the model needs them.
        """
        return self.description.format.source_example(text)

    def _pair(self, source: str, target: str) -> Example:
        symbols = self.description.format.target_symbols(target)
        return replace(self.example(source), targets=(symbols,))

    def _spellable(self, source: str, target: str) -> Example:
        """Returns a pair, and warns or complains of symbols that the model has never seen."""
        pair, vocabulary = self._pair(source, target), self.description.vocabulary
        if unspellable := vocabulary.target.unknown(pair.targets[0]):
            raise HardalignError(
                f"{target!r} cannot be aligned: the model has never seen {unspellable[0]!r} in a "
                "target"
            )
        unknown = UnknownSymbols(vocabulary.source)
        unknown.note(pair)
        _warn(unknown, stacklevel=4)
        return pair

    def _encoded(self, pairs: Iterable[Example]) -> Iterator[Encoded]:
        return (encode_pair(pair, self.description.vocabulary) for pair in pairs)

    def _prediction(self, example: Example, string: Answer) -> Prediction:
        vocabulary, hypothesis = self.description.vocabulary, string.hypothesis
        symbols = vocabulary.target.decode(hypothesis.symbols)
        alignment = None
        if string.alignment is not None:
            pair = replace(example, targets=(symbols,))
            alignment = self._alignment(pair, string.alignment)
        return Prediction(
            example.text,
            self.description.format.join_target(symbols),
            symbols,
            hypothesis.log_prob,
            hypothesis.finished,
            hypothesis.alpha[:, : len(example.tags) + len(example.source) + 2],
            alignment,
            tuple(vocabulary.source.unknown(example.source, example.tags)),
        )

    def _alignment(self, pair: Example, aligned: Aligned) -> Alignment:
        strings = pair.source, pair.targets[0], pair.tags
        kind, system = self.system.alignment, self.description.model.system
        return Alignment(*strings, aligned.weights, kind, system, aligned.path)


def load(model: str | Path, *, temperature: float | None = None) -> Predictor:
    """Loads a model folder that ``hardalign train`` wrote, or a bundled model by its name.

    Args:
        model: The folder of a model or of an ensemble.
        temperature: At which to answer, if not at that which training found: 1 gives the
            probabilities as they were learned, more makes them more alike.

    Raises:
        HardalignError: If the folder, or a file in it, is missing or damaged.
    """
    _keep_freed_memory()
    members, description = load_members(model_folder(model))
    if temperature is not None:
        description = replace(description, temperature=temperature)
    parts = [(own.model, tensors) for tensors, own in members]
    runtime = build_members(parts, description.vocabulary, description.temperature)
    learned = (
        tensor.size
        for tensors, _ in members
        for name, tensor in tensors.items()
        if name != ALIGNER_TABLE
    )
    return Predictor(runtime, description, sum(learned))


def _keep_freed_memory() -> None:
    """Frees a large block that was never touched, which costs nothing.

    From then on the C library (glibc) keeps blocks up to that size when they are freed, instead of
    giving them back to the system and being given them anew, page by page, at every step.
    """
    np.empty(FREED, np.uint8)


def _warn(unknown: UnknownSymbols, stacklevel: int = 3) -> None:
    """Warns where a user called; that is ``stacklevel`` calls away, this one included."""
    if report := unknown.report():
        warnings.warn(report, UnknownSymbolsWarning, stacklevel=stacklevel)
