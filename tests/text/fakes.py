"""A predictor that answers from a rule and remembers what it was asked, and a model of noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from hardalign.alignment import Alignment
from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.formats import FORMATS, Example, Format
from hardalign.data.lexicon import Lexicon
from hardalign.data.reading import Origin
from hardalign.data.vocabulary import Alphabet, Vocabulary
from hardalign.model_folder import WEIGHTS, Description, write_description, write_tensors
from hardalign.predictor import Predictor
from hardalign.search import Prediction
from hardalign.systems.parameters import parameter_shapes

LETTERS = "'abcdefghijklmnopqrstuvwxyz"
PHONES = [letter.upper() for letter in LETTERS] + ["AH0", "AH1", "AE1"]
WORDS = replace(FORMATS["lexicon"], source_case="lower")


class FakePredictor(Predictor):
    """Spells a word in capitals, a symbol for each letter; its next answers are worse."""

    def __init__(
        self,
        letters: Iterable[str] = LETTERS,
        phones: Iterable[str] = PHONES,
        layout: Format = WORDS,
    ) -> None:
        vocabulary = Vocabulary(Alphabet(tuple(letters)), Alphabet(tuple(phones)))
        model = SimpleNamespace(copying=False)
        self.description: Any = SimpleNamespace(
            format=layout, vocabulary=vocabulary, model=model, known_forms=None
        )
        self.lexicon, self.languages, self.ipa = Lexicon(layout), (), False
        self.asked: list[str] = []

    def as_read(self, example: Example) -> Example:
        return example

    def answers(
        self,
        examples: Iterable[Example],
        search: Any,
        *,
        alignments: bool = False,
        exact: bool = True,
        threads: int = 1,
        first: int = 0,
    ) -> Iterator[list[Prediction]]:
        for example in examples:
            if not example.source:
                yield [self._said(example, (), 0.0)]
                continue
            self.asked.append("".join(example.source))
            best = tuple(symbol.upper() for symbol in example.source)
            count = search.nbest or (3 if search.mass else 1)
            found = [(best * (k + 1), np.log(0.6 * 0.25**k)) for k in range(count)]
            yield [
                self._said(example, symbols, float(log_prob), alignments)
                for symbols, log_prob in found
            ]

    def score(self, pairs: Iterable[Example], *, threads: int = 1) -> Iterator[list[float]]:
        for pair in pairs:
            right = tuple(symbol.upper() for symbol in pair.source) == pair.targets[0]
            yield [-0.25 if right else -1.0] * (len(pair.targets[0]) + 1)

    def align_pairs(
        self, pairs: Iterable[Example], *, threads: int = 1
    ) -> Iterator[tuple[Example, Alignment]]:
        for pair in pairs:
            yield pair, self._alignment(pair)

    def _alignment(self, pair: Example) -> Alignment:
        rows, columns = len(pair.targets[0]) + 1, len(pair.tags) + len(pair.source) + 2
        weights = np.zeros((rows, columns))
        for row in range(rows):
            weights[row, min(row + 1 + len(pair.tags), columns - 1)] = 1.0
        return Alignment(pair.source, pair.targets[0], pair.tags, weights, "posterior", "hard")

    def _said(
        self, example: Example, symbols: tuple[str, ...], log_prob: float, align: bool = False
    ) -> Prediction:
        alignment = self._alignment(replace(example, targets=(symbols,))) if align else None
        text = self.description.format.join_target(symbols)
        alpha: Any = np.empty((0, 0))
        return Prediction(example.text, text, symbols, log_prob, True, alpha, alignment)


def random_model(folder: Path) -> Path:
    """Writes a small model of random numbers that spells a, b and c with capitals."""
    vocabulary = Vocabulary(Alphabet(tuple("abc")), Alphabet(tuple("ABC")))
    config = ModelConfig("hard", embedding=4, encoder=4, decoder=4)
    random = np.random.default_rng(4)  # one whose answers come to an end
    tensors = {
        name: random.normal(size=shape).astype(np.float32)
        for name, shape in parameter_shapes(config, vocabulary).items()
    }
    folder.mkdir()
    origin = Origin()
    description = Description(config, TrainingConfig(), FORMATS["pairs"], vocabulary, origin)
    write_description(folder, description)
    write_tensors(folder / WEIGHTS, tensors, {})
    return folder
