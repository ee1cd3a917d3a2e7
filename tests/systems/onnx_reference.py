"""What the graphs are held to: the same model, run step by step by other code.

The only file of these tests that knows which code that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import BEGIN, Encoded, Vocabulary
from hardalign.decoding import Hypothesis
from hardalign.search import predictions
from hardalign.systems.model import Words, build_model

Array = NDArray[Any]


class Reference:
    """A model in double precision, so that only the graphs make errors."""

    def __init__(
        self, config: ModelConfig, vocabulary: Vocabulary, tensors: Mapping[str, Array]
    ) -> None:
        self._runtime = build_model(config, tensors, vocabulary)

    def steps(
        self, words: Sequence[Encoded], symbols: Sequence[int]
    ) -> Iterator[tuple[Array, Array]]:
        """Yields log_probs [B, V] and alpha [B, J] at first and after each symbol, as all write the
        same symbols."""
        state, rows = (
            self._runtime.start(self._runtime.read(Words.of(words))),
            np.arange(len(words)),
        )
        for previous in (BEGIN, *symbols):
            step = self._runtime.step(state, rows, np.full(len(words), previous))
            yield step.log_probs, step.alpha
            state = step.state

    def greedy(self, words: Sequence[Encoded]) -> list[Hypothesis]:
        """Returns the most probable symbol at every step, for each word."""
        return predictions(self._runtime, words)
