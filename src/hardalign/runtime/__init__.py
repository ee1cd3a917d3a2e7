"""Trained models in NumPy: the same systems as ``hardalign.networks``, step by step.

``build_runtime`` makes a ``Runtime`` from the tensors of a model folder. A runtime reads source
words once (``read``), then searches step by step (``start``, ``step``) or follows given targets
(``follow``), which gives a ``Lattice``: scores, posteriors, best paths and samples of alignments.
"""

from __future__ import annotations

from hardalign.runtime.build import build_members, build_runtime
from hardalign.runtime.interface import Runtime, Step
from hardalign.runtime.lattice import Lattice
from hardalign.runtime.words import Targets, Words

__all__ = [
    "Lattice",
    "Runtime",
    "Step",
    "Targets",
    "Words",
    "build_members",
    "build_runtime",
]
