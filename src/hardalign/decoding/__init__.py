"""From a runtime to strings: greedy search, beams, probability mass and samples, in batches."""

from __future__ import annotations

from hardalign.decoding.answers import (
    align,
    answer,
    estimate,
    log_likelihoods,
    predictions,
    sample_alignments,
    symbol_scores,
)
from hardalign.decoding.batch import Aligned, Answer, covered
from hardalign.decoding.history import LENGTH_LIMIT, Hypothesis
from hardalign.decoding.settings import DEFAULT_BEAM, MASS_BEAM_LIMIT, Search

__all__ = [
    "DEFAULT_BEAM",
    "LENGTH_LIMIT",
    "MASS_BEAM_LIMIT",
    "Aligned",
    "Answer",
    "Hypothesis",
    "Search",
    "align",
    "answer",
    "covered",
    "estimate",
    "log_likelihoods",
    "predictions",
    "sample_alignments",
    "symbol_scores",
]
