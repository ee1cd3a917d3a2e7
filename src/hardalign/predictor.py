"""A trained model as its users meet it: strings in, strings out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import overload

import torch
from torch import Tensor

from hardalign.alignment import Alignment
from hardalign.data.batching import encode_pairs, encode_sources
from hardalign.data.example import Example, Symbols
from hardalign.data.vocabulary import UnknownSymbols
from hardalign.errors import HardalignError
from hardalign.inference import alignments, log_likelihoods, predictions
from hardalign.models.systems import find_system
from hardalign.models.transducer import Transducer
from hardalign.storage import Description, load_model

WINDOW = 8192
"""Words read ahead, so that words of similar length can share a batch: memory stays constant."""


@dataclass(frozen=True)
class Prediction:
    """What the model says about one source string."""

    source: str
    """As it was given."""
    text: str
    """The predicted target, spelled as in the training data."""
    symbols: Symbols
    """The same, cut into symbols."""
    log_prob: float
    """log p(y | x), natural logarithm."""
    finished: bool
    """False where the length limit cut the prediction off."""
    weights: Tensor
    """[symbols, then the end; begin, tags, source symbols, end] where the model looked."""

    def __str__(self) -> str:
        return self.text


class Predictor:
    """A model with its vocabulary and format, as ``load`` gives it.

    >>> g2p = hardalign.load("runs/g2p")
    >>> g2p("action").text
    'AE K SH AH N'
    """

    def __init__(self, model: Transducer, description: Description) -> None:
        self.model = model.eval()
        self.description = description

    @overload
    def __call__(self, source: str) -> Prediction: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, source: Iterable[str]) -> list[Prediction]: ...
    def __call__(self, source: str | Iterable[str]) -> Prediction | list[Prediction]:
        """Predict one string, or each of several.

        For a model trained with tags, a source is ``lemma<TAB>TAG;TAG``.
        """
        if isinstance(source, str):
            return self([source])[0]
        return list(self.predict(self.example(text) for text in source))

    def predict(
        self, examples: Iterable[Example], unknown: UnknownSymbols | None = None
    ) -> Iterator[Prediction]:
        """Predict a stream of any length in constant memory, in its own order.

        Args:
            examples: What to predict; one without source symbols gets an empty prediction.
            unknown: Counts the symbols that the model has never seen.
        """
        stream = iter(examples)
        while window := list(islice(stream, WINDOW)):
            if unknown is not None:
                for example in window:
                    unknown.note(example)
            asked = [example for example in window if example.source]
            answers = iter(self._answers(asked))
            for example in window:
                yield next(answers) if example.source else _EMPTY

    def log_prob(self, source: str, target: str) -> float:
        """log p(target | source), natural logarithm; −inf if the target cannot be spelled."""
        encoded = encode_pairs([self._pair(source, target)], self.description.vocabulary)
        return log_likelihoods(self.model, encoded)[0]

    def align(self, source: str, target: str) -> Alignment:
        """Which source symbol each symbol of a given target came from.

        Raises:
            HardalignError: If the target has a symbol that the model has never seen.
        """
        pair = self._pair(source, target)
        vocabulary = self.description.vocabulary
        if unknown := vocabulary.target.unknown(pair.targets[0]):
            raise HardalignError(
                f"{target!r} cannot be aligned: the model has never seen {unknown[0]!r} in a target"
            )
        weights = alignments(self.model, encode_pairs([pair], vocabulary))[0]
        kind = find_system(self.description.model.system).alignment
        return Alignment(pair.source, pair.targets[0], pair.tags, weights, kind)

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

    def _answers(self, examples: list[Example]) -> Iterator[Prediction]:
        vocabulary, layout = self.description.vocabulary, self.description.format
        found = predictions(self.model, encode_sources(examples, vocabulary))
        for example, best in zip(examples, found, strict=True):
            symbols = vocabulary.target.decode(best.symbols)
            width = len(example.tags) + len(example.source) + 2
            yield Prediction(
                example.text,
                layout.join_target(symbols),
                symbols,
                best.log_prob,
                best.finished,
                best.alignment[:, :width],
            )


_EMPTY = Prediction("", "", (), 0.0, True, torch.empty(0, 0))
"""The answer to a blank line, which keeps output and input side by side."""


def load(folder: str | Path) -> Predictor:
    """Load a model folder that ``hardalign train`` wrote.

    Raises:
        HardalignError: If the folder, or a file in it, is missing or damaged.
    """
    return Predictor(*load_model(Path(folder)))
