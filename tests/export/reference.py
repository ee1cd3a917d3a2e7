"""What the graphs are held to: the same model, run step by step by other code.

The only file of these tests that knows which code that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from numpy.typing import NDArray

from hardalign.config import ModelConfig
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, Vocabulary
from hardalign.decoding import Hypothesis, greedy
from hardalign.networks.batch import collate
from hardalign.networks.build import build_model

Array = NDArray[Any]


class Reference:
    """A model in double precision, so that only the graphs make errors."""

    def __init__(
        self, config: ModelConfig, vocabulary: Vocabulary, tensors: Mapping[str, Array]
    ) -> None:
        self._model = build_model(config, vocabulary).double().eval()
        self._model.load_state_dict(
            {name: torch.from_numpy(tensor) for name, tensor in tensors.items()}
        )

    @torch.inference_mode()
    def steps(
        self, words: Sequence[Encoded], symbols: Sequence[int]
    ) -> Iterator[tuple[Array, Array]]:
        """Yields log_probs [B, V] and alpha [B, J] at first and after each symbol, as all write the
        same symbols."""
        state = self._model.begin(collate(words))
        for previous in (BEGIN, *symbols):
            step = self._model.step(state, torch.full((len(words),), previous))
            yield step.log_probs.numpy(), step.alignment.numpy()
            state = step.state

    def greedy(self, words: Sequence[Encoded]) -> list[Hypothesis]:
        """Returns the most probable symbol at every step, for each word."""
        return greedy(self._model, collate(words))
