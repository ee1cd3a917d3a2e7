"""From a model to strings, through ``begin`` and ``step`` alone."""

from __future__ import annotations

from hardalign.decoding.beam import beam_search
from hardalign.decoding.history import LENGTH_LIMIT, Hypothesis
from hardalign.decoding.settings import DEFAULT_BEAM, MASS_BEAM_LIMIT, Search
from hardalign.decoding.walk import greedy, noise, sample

__all__ = [
    "DEFAULT_BEAM",
    "LENGTH_LIMIT",
    "MASS_BEAM_LIMIT",
    "Hypothesis",
    "Search",
    "beam_search",
    "greedy",
    "noise",
    "sample",
]
