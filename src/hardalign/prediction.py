"""One answer of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardalign.alignment import Alignment
from hardalign.data.example import Symbols


@dataclass(frozen=True, eq=False)
class Prediction:
    """What the model says about one source string."""

    source: str
    """As it was given."""
    text: str
    """The predicted target, spelled as in the training data."""
    symbols: Symbols
    """The same, cut into symbols."""
    log_prob: float
    """log p(y | x), natural logarithm; ``Predictor.system.score`` says what kind of value it is."""
    finished: bool
    """False where the length limit cut the prediction off."""
    alpha: NDArray[Any]
    """[symbols, then the end; begin, tags, source symbols, end] where the model looked before each
    symbol was known."""
    alignment: Alignment | None = None
    """With its source, where that was asked for."""
    unknown: Symbols = ()
    """Symbols of the source that the model has never seen."""

    def to_dict(self) -> dict[str, Any]:
        """Returns what the model says as JSON can hold it: all but the source and alpha."""
        content = {
            "text": self.text,
            "symbols": self.symbols,
            "log_prob": self.log_prob,
            "finished": self.finished,
        }
        return (
            content if self.alignment is None else content | {"alignment": self.alignment.to_dict()}
        )

    def __str__(self) -> str:
        return self.text


NOTHING = Prediction("", "", (), 0.0, True, np.empty((0, 0)))
"""The answer to a blank line, which keeps output and input side by side."""
