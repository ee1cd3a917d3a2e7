"""From a model to strings, through ``begin`` and ``step`` alone."""

from __future__ import annotations

from hardalign.search.beam import beam_search
from hardalign.search.history import LENGTH_LIMIT, Hypothesis
from hardalign.search.settings import DEFAULT_BEAM, MASS_BEAM_LIMIT, Search
from hardalign.search.walk import greedy, noise, sample

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
