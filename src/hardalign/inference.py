"""A model applied to many words: in batches of similar length, answers in the order asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from hardalign.data.batching import Encoded, batches_by_symbols, collate
from hardalign.data.vocabulary import UNKNOWN
from hardalign.models.transducer import Transducer
from hardalign.search import Hypothesis, greedy

T = TypeVar("T")

BATCH_SYMBOLS = 4096
"""Source symbols in a batch, padding included."""


def predictions(model: Transducer, sources: Sequence[Encoded]) -> list[Hypothesis]:
    """The greedy prediction for each source."""

    def predict(positions: list[int]) -> list[Hypothesis]:
        batch = collate([sources[k] for k in positions])
        return greedy(model, batch.to(device_of(model)))

    return _in_batches(predict, [len(source.source) for source in sources])


def log_likelihoods(model: Transducer, pairs: Sequence[Encoded]) -> list[float]:
    """log p(y | x) of each pair; −inf where the target has a symbol that the model cannot spell."""
    spellable = [k for k, pair in enumerate(pairs) if UNKNOWN not in pair.target]

    @torch.inference_mode()
    def score(positions: list[int]) -> list[float]:
        batch = collate([pairs[spellable[k]] for k in positions])
        return model.log_likelihood(batch.to(device_of(model))).tolist()

    lengths = [max(len(pairs[k].source), len(pairs[k].target)) for k in spellable]
    scores = dict(zip(spellable, _in_batches(score, lengths), strict=True))
    return [scores.get(k, -math.inf) for k in range(len(pairs))]


def alignments(model: Transducer, pairs: Sequence[Encoded]) -> list[NDArray[np.float64]]:
    """[target symbols and end, source symbols with begin and end] weights of each pair."""

    @torch.inference_mode()
    def align(positions: list[int]) -> list[NDArray[np.float64]]:
        chosen = [pairs[k] for k in positions]
        weights = model.align(collate(chosen).to(device_of(model))).double().cpu().numpy()
        return [
            weights[row, : len(pair.target), : len(pair.source)] for row, pair in enumerate(chosen)
        ]

    return _in_batches(align, [max(len(pair.source), len(pair.target)) for pair in pairs])


def device_of(model: Transducer) -> torch.device:
    """Where a model's weights are."""
    return next(model.parameters()).device


def _in_batches(answer: Callable[[list[int]], list[T]], lengths: Sequence[int]) -> list[T]:
    answers: dict[int, T] = {}
    for positions in batches_by_symbols(lengths, BATCH_SYMBOLS):
        answers.update(zip(positions, answer(positions), strict=True))
    return [answers[position] for position in range(len(lengths))]
