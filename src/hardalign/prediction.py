"""One answer of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hardalign.data.example import Symbols


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
    """log p(y | x), natural logarithm; ``Predictor.score_kind`` says what kind of value it is."""
    finished: bool
    """False where the length limit cut the prediction off."""
    weights: Tensor
    """[symbols, then the end; begin, tags, source symbols, end] where the model looked."""

    def to_dict(self) -> dict[str, Any]:
        """What the model says, as JSON can hold it: all but the source and the weights."""
        return {
            "text": self.text,
            "symbols": self.symbols,
            "log_prob": self.log_prob,
            "finished": self.finished,
        }

    def __str__(self) -> str:
        return self.text


NOTHING = Prediction("", "", (), 0.0, True, torch.empty(0, 0))
"""The answer to a blank line, which keeps output and input side by side."""
