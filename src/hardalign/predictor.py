"""A trained model as its users meet it: strings in, strings out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hardalign.alignment import Alignment
from hardalign.data.example import Example
from hardalign.data.vocabulary import UnknownSymbols
from hardalign.decoding import Search, sample_alignments
from hardalign.errors import HardalignError
from hardalign.model_folder import find_model, load_members
from hardalign.prediction import Prediction
from hardalign.runtime import build_members
from hardalign.shapes import ALIGNER_TABLE
from hardalign.streams import StreamPredictor

FREED = (1 << 25) - (1 << 16)
"""Bytes; from 32 MB on the C library takes no notice."""


class UnknownSymbolsWarning(UserWarning):
    """A source has symbols that the model has never seen, and reads as unknown."""


class Predictor(StreamPredictor):
    """A model with its vocabulary and format, as ``load`` gives it.

    >>> g2p = hardalign.load("en-g2p")
    >>> g2p("action").text
    'AE1 K SH AH0 N'
    """

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
        """Draws strings from the model's distribution, independently: some may be equal.

        Warns:
            UnknownSymbolsWarning: If the source has symbols that the model has never seen.
        """
        search, example = Search(samples=samples, seed=seed), self.example(source)
        self._warn_of(example)
        return next(self.answers([example], search))

    def log_prob(self, source: str, target: str) -> float:
        """Returns log p(target | source), natural logarithm; −inf if it cannot be spelled.

        Warns:
            UnknownSymbolsWarning: If the source has symbols that the model has never seen.
        """
        pair = self._pair(source, target)
        self._warn_of(pair)
        return math.fsum(next(self.score([pair])))

    def align(self, source: str, target: str) -> Alignment:
        """Returns which source symbol each symbol of a given target came from.

        Raises:
            HardalignError: If the target has a symbol that the model has never seen.
        """
        pair = self._spellable(source, target)
        (_, alignment) = next(self.align_pairs([pair]))
        assert alignment is not None  # it can be spelled
        return alignment

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
        encoded = self.numbering.pair(self.as_read(pair))
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
        pair = self._pair(source, target)
        if unspellable := self.numbering.unwritable(pair):
            raise HardalignError(
                f"{target!r} cannot be aligned: the model has never seen {unspellable[0]!r} in a "
                "target"
            )
        self._warn_of(pair, stacklevel=5)
        return pair

    def _warn_of(self, example: Example, stacklevel: int = 4) -> None:
        """Warns of symbols of a source that the model has never seen; as ``_warn``."""
        unknown = UnknownSymbols(self.description.vocabulary.source)
        unknown.note(example)
        _warn(unknown, stacklevel)


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
    members, description = load_members(find_model(model))
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
