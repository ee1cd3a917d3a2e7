"""A trained model as its users meet it: strings in, strings out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import compress, islice, repeat
from pathlib import Path
from typing import overload

from hardalign.alignment import Alignment, Draw
from hardalign.bundled import model_folder
from hardalign.data.encoding import Encoded, encode_pairs, encode_sources
from hardalign.data.example import Example
from hardalign.data.vocabulary import UnknownSymbols
from hardalign.decoding import Hypothesis, Search
from hardalign.decoding.answers import answers
from hardalign.decoding.batches import alignments, best_paths, sample_paths, symbol_log_likelihoods
from hardalign.errors import HardalignError
from hardalign.networks.chained import ChainTransducer
from hardalign.networks.transducer import Transducer
from hardalign.prediction import NOTHING, Prediction
from hardalign.systems import SCORES, ScoreKind, find_system
from hardalign.training.storage import Description, load_model

WINDOW = 8192
"""Answers held at a time, so that words of similar length can share a batch in constant memory."""
CELLS = 1 << 20
"""Weights of alignments held at a time, for the same reason: they are as many as length squared."""
ALIGNED = 512
"""Answers aligned together."""


class Predictor:
    """A model with its vocabulary and format, as ``load`` gives it.

    >>> g2p = hardalign.load("en-g2p")
    >>> g2p("action").text
    'AE1 K SH AH0 N'
    """

    def __init__(self, model: Transducer, description: Description) -> None:
        self.model = model.eval()
        self.description = description

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
        """Predict one string, or each of several.

        >>> g2p("action", nbest=2)[1].text
        'AE1 K T Y AH0 N'

        Args:
            source: One or more; for a model trained with tags, each is ``lemma<TAB>TAG;TAG``.
            beam: Hypotheses followed side by side. Default: 1 (greedy), for ``nbest`` more.
            nbest: Give a list of so many different strings, best first; fewer if no more are found.
        """
        search = Search(beam=beam, nbest=nbest)
        texts = [source] if isinstance(source, str) else source
        found = list(self.answers((self.example(text) for text in texts), search))
        lists = found if nbest is not None else [best for (best,) in found]
        return lists[0] if isinstance(source, str) else lists

    def sample(self, source: str, samples: int, *, seed: int = 0) -> list[Prediction]:
        """Draw strings from the model's distribution, independently: some may be equal."""
        search = Search(samples=samples, seed=seed)
        return next(self.answers([self.example(source)], search))

    def predict(
        self, examples: Iterable[Example], unknown: UnknownSymbols | None = None
    ) -> Iterator[Prediction]:
        """The greedy prediction for each of a stream, as ``answers`` gives it."""
        for (best,) in self.answers(examples, Search(rescore=False), unknown):
            yield best

    def answers(
        self, examples: Iterable[Example], search: Search, unknown: UnknownSymbols | None = None
    ) -> Iterator[list[Prediction]]:
        """Answer a stream of any length in constant memory, in its own order.

        Args:
            examples: What to predict; one without source symbols gets one empty prediction.
            search: What to look for.
            unknown: Counts the symbols that the model has never seen.

        Yields:
            For each example its strings: best first, or samples in the order drawn.

        Raises:
            HardalignError: If probability mass is asked for and the model's scores are not exact.
        """
        if search.mass is not None and self.score_kind != "exact":
            raise HardalignError(
                f"no probability mass can be covered: the scores of {self.description.model.system}"
                f" are not exact probabilities ({SCORES[self.score_kind]})"
            )
        stream, first = iter(examples), 0
        while window := list(islice(stream, max(1, WINDOW // search.most))):
            if unknown is not None:
                for example in window:
                    unknown.note(example)
            asked = [example for example in window if example.source]
            found = iter(self._answers(asked, search, first))
            first += len(asked)
            for example in window:
                yield next(found) if example.source else [NOTHING]

    @property
    def score_kind(self) -> ScoreKind:
        """Which kind of score ``log_prob`` gives, "exact" or another of ``SCORES``."""
        return find_system(self.description.model.system).score

    def symbol_log_probs(self, pairs: Iterable[Example]) -> Iterator[list[float]]:
        """Score a stream of pairs in constant memory, in its own order.

        Args:
            pairs: Examples of one target each, as ``training_pairs`` makes them.

        Yields:
            log p(y_i | y_<i, x) of each target symbol and the end, whose sum is log p(y | x). From
            a symbol on that the model has never seen, −inf.
        """
        stream = iter(pairs)
        while window := list(islice(stream, WINDOW)):
            yield from symbol_log_likelihoods(
                self.model, encode_pairs(window, self.description.vocabulary)
            )

    def log_prob(self, source: str, target: str) -> float:
        """log p(target | source), natural logarithm; −inf if the target cannot be spelled."""
        return math.fsum(next(self.symbol_log_probs([self._pair(source, target)])))

    def align(self, source: str, target: str) -> Alignment:
        """Which source symbol each symbol of a given target came from.

        Raises:
            HardalignError: If the target has a symbol that the model has never seen.
        """
        pair = self._pair(source, target)
        _, found = next(self.align_pairs([pair]))
        if found is None:
            unknown = self.description.vocabulary.target.unknown(pair.targets[0])
            raise HardalignError(
                f"{target!r} cannot be aligned: the model has never seen {unknown[0]!r} in a target"
            )
        return found

    def align_pairs(self, pairs: Iterable[Example]) -> Iterator[tuple[Example, Alignment | None]]:
        """Align a stream of pairs in constant memory, in its own order.

        Args:
            pairs: Examples of one target each, as ``training_pairs`` makes them.

        Yields:
            Each pair with its alignment; None if the model has never seen a symbol of the target.
        """
        vocabulary, system = self.description.vocabulary, self.description.model.system
        row = find_system(system)
        for window in _windows(pairs):
            spelled = [not vocabulary.target.unknown(pair.targets[0]) for pair in window]
            encoded = encode_pairs(compress(window, spelled), vocabulary)
            weights = iter(alignments(self.model, encoded))
            chains = self._chains(encoded)
            for pair, known in zip(window, spelled, strict=True):
                if known:
                    given = pair.source, pair.targets[0], pair.tags
                    what = next(weights), row.alignment, system
                    yield pair, Alignment(*given, *what, *next(chains))
                else:
                    yield pair, None

    def align_answers(
        self, answered: Iterable[tuple[Example, list[Prediction]]]
    ) -> Iterator[tuple[list[Prediction], list[Alignment]]]:
        """Align what was predicted with its sources, in constant memory and the same order.

        Args:
            answered: Examples with their ``answers``.

        Yields:
            The answers and their alignments, none for an example without source symbols.
        """
        stream = iter(answered)
        while window := list(islice(stream, ALIGNED)):
            pairs = (
                replace(example, targets=(prediction.symbols,))
                for example, found in window
                for prediction in found
                if example.source
            )
            aligned = self.align_pairs(pairs)
            for example, found in window:
                wanted = islice(aligned, len(found) if example.source else 0)
                yield found, [one for _, one in wanted if one is not None]

    def _chains(self, pairs: list[Encoded]) -> Iterator[tuple[list[int] | None, Draw | None]]:
        """Each pair's best path and how others are drawn, where rows of weights do not say it."""
        model = self.model
        if isinstance(model, ChainTransducer):
            for pair, path in zip(pairs, best_paths(model, pairs), strict=True):
                yield path, partial(sample_paths, model, pair)
        else:
            yield from repeat((None, None), len(pairs))

    def _pair(self, source: str, target: str) -> Example:
        symbols = self.description.format.target_symbols(target)
        return replace(self.example(source), targets=(symbols,))

    def example(self, text: str) -> Example:
        """Cut a source string into symbols as the training data was cut."""
        layout = self.description.format
        fields = text.split("\t") if "tags" in layout.columns else [text]
        if len(fields) > 2:
            raise HardalignError(f"{text!r} should be lemma<TAB>TAG;TAG")
        source = layout.source_symbols(fields[0])
        if not source:
            raise HardalignError(f"nothing to predict: the source {text!r} has no symbols")
        tags = layout.tag_symbols(fields[1]) if len(fields) > 1 else ()
        return Example(source, tags=tags, text=fields[0])

    def _answers(
        self, examples: list[Example], search: Search, first: int
    ) -> Iterator[list[Prediction]]:
        encoded = encode_sources(examples, self.description.vocabulary)
        found = answers(self.model, encoded, search, first)
        for example, strings in zip(examples, found, strict=True):
            yield [self._prediction(example, string) for string in strings]

    def _prediction(self, example: Example, string: Hypothesis) -> Prediction:
        symbols = self.description.vocabulary.target.decode(string.symbols)
        width = len(example.tags) + len(example.source) + 2
        return Prediction(
            example.text,
            self.description.format.join_target(symbols),
            symbols,
            string.log_prob,
            string.finished,
            string.alignment[:, :width],
        )


def _windows(pairs: Iterable[Example]) -> Iterator[list[Example]]:
    """Cut a stream where its alignments would fill more than ``CELLS``."""
    window: list[Example] = []
    cells = 0
    for pair in pairs:
        window.append(pair)
        cells += (len(pair.targets[0]) + 1) * (len(pair.tags) + len(pair.source) + 2)
        if cells > CELLS:
            yield window
            window, cells = [], 0
    if window:
        yield window


def load(model: str | Path) -> Predictor:
    """Load a model folder that ``hardalign train`` wrote, or a bundled model by its name.

    Raises:
        HardalignError: If the folder, or a file in it, is missing or damaged.
    """
    return Predictor(*load_model(model_folder(model)))
