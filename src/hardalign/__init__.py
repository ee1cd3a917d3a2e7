"""Strings to strings, character by character, with exact hard attention.

>>> import hardalign
>>> g2p = hardalign.load("en-g2p")
>>> g2p("action").text
'AE1 K SH AH0 N'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hardalign.errors import HardalignError, InputError
from hardalign.version import __version__

if TYPE_CHECKING:
    from hardalign.alignment import Alignment
    from hardalign.data.corpora import load_corpus
    from hardalign.predictor import Prediction, Predictor, load
    from hardalign.training.api import train

__all__ = [
    "Alignment",
    "HardalignError",
    "InputError",
    "Prediction",
    "Predictor",
    "__version__",
    "load",
    "load_corpus",
    "train",
]

_HOMES = {
    "Alignment": "hardalign.alignment",
    "Prediction": "hardalign.predictor",
    "Predictor": "hardalign.predictor",
    "load": "hardalign.predictor",
    "load_corpus": "hardalign.corpora.load",
    "train": "hardalign.training.api",
}


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is asked for: ``hardalign --help`` stays quick."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
