"""Character-level string transduction with exact hard attention.

>>> import hardalign
>>> g2p = hardalign.load("en-g2p")
>>> g2p("action").text
'AE1 K SH AH0 N'
"""

from __future__ import annotations

from hardalign.errors import HardalignError, InputError

TYPE_CHECKING = False  # importing typing takes milliseconds, in which Ctrl-C gives a traceback
if TYPE_CHECKING:
    from hardalign.alignment import Alignment
    from hardalign.data.corpora import load_corpus
    from hardalign.predictor import Predictor, load
    from hardalign.search import Prediction
    from hardalign.training.api import train
    from hardalign.training.members import join
    from hardalign.training.run import torch_module

__version__ = "0.3.0"

__all__ = [
    "Alignment",
    "HardalignError",
    "InputError",
    "Prediction",
    "Predictor",
    "__version__",
    "join",
    "load",
    "load_corpus",
    "torch_module",
    "train",
]

_HOMES = {
    "Alignment": "alignment",
    "Prediction": "search",
    "Predictor": "predictor",
    "join": "training.members",
    "load": "predictor",
    "load_corpus": "data.corpora",
    "torch_module": "training.run",
    "train": "training.api",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that ``import hardalign`` stays fast."""
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(f"hardalign.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, for tab completion and ``help``; some only if torch is installed."""
    from importlib.util import find_spec

    learning = ("join", "torch_module", "train")
    return [name for name in __all__ if name not in learning or find_spec("torch")]
