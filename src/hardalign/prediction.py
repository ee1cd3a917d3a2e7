"""Predictions of a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardalign.alignment import Alignment
from hardalign.data.lexicon import Origin
from hardalign.data.text import Symbols


@dataclass(frozen=True, repr=False)
class Prediction:
    """A predicted target string."""

    source: str
    """The source as given."""
    text: str
    """The target, spelled as in the training data, or in IPA."""
    symbols: Symbols
    """The target as the symbols that the model writes."""
    log_prob: float
    """log p(y | x), natural logarithm, of the kind named by ``Predictor.system.score``."""
    finished: bool = True
    """False if the prediction was cut off at the length limit."""
    alpha: NDArray[np.floating] = field(default_factory=lambda: np.empty((0, 0)), compare=False)
    """[symbols, then the end; begin, tags, source symbols, end] where the model looked before each
    symbol was known."""
    alignment: Alignment | None = field(default=None, compare=False)
    """The alignment with the source, if requested."""
    unknown: Symbols = ()
    """Out-of-vocabulary symbols of the source and tags."""
    tags: Symbols = ()
    """The tags given with the source."""
    origin: Origin = "model"
    """Whether the answer comes from a lexicon or from the model."""

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON output has: all but the source, its tags and symbols, and alpha."""
        content = {name: getattr(self, name) for name in _SHOWN}
        return content | ({"alignment": self.alignment.to_dict()} if self.alignment else {})

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        tags = f" {';'.join(self.tags)}" if self.tags else ""
        score = f"log p {self.log_prob:.6g}{'' if self.finished else ', cut off'}"
        return f"<Prediction {self.source!r}{tags} → {self.text!r}, {score}>"


_SHOWN = ("text", "symbols", "log_prob", "finished")
NOTHING = Prediction("", "", (), 0.0)
"""The answer to a blank line, which keeps output aligned with input."""
