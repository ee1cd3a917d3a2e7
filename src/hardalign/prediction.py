"""One answer of a model."""

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
    """One answer of a model to one source string."""

    source: str
    """As it was given."""
    text: str
    """The predicted target, spelled as in the training data; in IPA if it was loaded so."""
    symbols: Symbols
    """The same as the model wrote it, cut into symbols."""
    log_prob: float
    """log p(y | x), natural logarithm; ``Predictor.system.score`` says what kind of value it is."""
    finished: bool = True
    """False where the length limit cut the prediction off."""
    alpha: NDArray[np.floating] = field(default_factory=lambda: np.empty((0, 0)), compare=False)
    """[symbols, then the end; begin, tags, source symbols, end] where the model looked before each
    symbol was known."""
    alignment: Alignment | None = field(default=None, compare=False)
    """With its source, where that was asked for."""
    unknown: Symbols = ()
    """Symbols of the source and tags that the model has never seen."""
    tags: Symbols = ()
    """The tags that were given with the source."""
    origin: Origin = "model"
    """Whether a lexicon had the answer, or the model found it."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it: all but the source, the tags and alpha."""
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
"""The answer to a blank line, which keeps output and input side by side."""
