"""Strings to strings, character by character, with exact hard attention.

>>> import hardalign
>>> g2p = hardalign.load("runs/g2p")
>>> g2p("action").text
'AE K SH AH N'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hardalign.errors import HardalignError, InputError
from hardalign.version import __version__

if TYPE_CHECKING:
    from hardalign.predictor import Prediction, Predictor, load

__all__ = ["HardalignError", "InputError", "Prediction", "Predictor", "__version__", "load"]


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is asked for: ``hardalign --help`` stays quick."""
    if name in ("Prediction", "Predictor", "load"):
        return getattr(importlib.import_module("hardalign.predictor"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
