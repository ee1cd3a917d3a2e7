"""A model applied to many words: in batches of similar length, answers in the order asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from hardalign.data.encoding import Encoded, batches_by_symbols
from hardalign.data.vocabulary import END, UNKNOWN
from hardalign.decoding import Hypothesis, greedy
from hardalign.networks.batch import collate
from hardalign.networks.chained import ChainTransducer
from hardalign.networks.transducer import Transducer

T = TypeVar("T")

BATCH_SYMBOLS = 4096
"""Source symbols in a batch, padding included; a beam counts each as often as it is wide."""


def predictions(model: Transducer, sources: Sequence[Encoded]) -> list[Hypothesis]:
    """The greedy prediction for each source."""

    def predict(positions: list[int]) -> list[Hypothesis]:
        batch = collate([sources[k] for k in positions])
        return greedy(model, batch.to(device_of(model)))

    return in_batches(predict, [len(source.source) for source in sources])


def log_likelihoods(model: Transducer, pairs: Sequence[Encoded]) -> list[float]:
    """log p(y | x) of each pair; −inf where the target has a symbol that the model cannot spell."""
    return [math.fsum(symbols) for symbols in symbol_log_likelihoods(model, pairs)]


def symbol_log_likelihoods(model: Transducer, pairs: Sequence[Encoded]) -> list[list[float]]:
    """log p(y_i | y_<i, x) of each pair's target symbols, the end included.

    From the first symbol on that the model cannot spell, it is −inf.
    """
    spelled = [_spelled(pair) for pair in pairs]

    @torch.inference_mode()
    def score(positions: list[int]) -> list[list[float]]:
        batch = collate([spelled[k] for k in positions]).to(device_of(model))
        # The end of what was cut short is not asked for.
        lengths = [len(spelled[k].target) - (spelled[k] is not pairs[k]) for k in positions]
        rows = model.symbol_log_likelihood(batch).tolist()
        return [row[:length] for row, length in zip(rows, lengths, strict=True)]

    found = in_batches(score, [max(len(pair.source), len(pair.target)) for pair in spelled])
    return [
        row + [-math.inf] * (len(pair.target) - len(row))
        for row, pair in zip(found, pairs, strict=True)
    ]


def alignments(model: Transducer, pairs: Sequence[Encoded]) -> list[NDArray[np.float64]]:
    """[target symbols and end, source symbols with begin and end] weights of each pair."""

    @torch.inference_mode()
    def align(positions: list[int]) -> list[NDArray[np.float64]]:
        chosen = [pairs[k] for k in positions]
        weights = model.align(collate(chosen).to(device_of(model))).double().cpu().numpy()
        return [
            weights[row, : len(pair.target), : len(pair.source)] for row, pair in enumerate(chosen)
        ]

    return in_batches(align, [max(len(pair.source), len(pair.target)) for pair in pairs])


def best_paths(model: ChainTransducer, pairs: Sequence[Encoded]) -> list[list[int]]:
    """The most probable alignment of each pair: a source position for each target symbol and end.

    Positions count begin, tags and end, as the columns of ``alignments`` do.
    """

    @torch.inference_mode()
    def follow(positions: list[int]) -> list[list[int]]:
        chosen = [pairs[k] for k in positions]
        paths = model.best_path(collate(chosen).to(device_of(model))).tolist()
        return [path[: len(pair.target)] for path, pair in zip(paths, chosen, strict=True)]

    return in_batches(follow, [max(len(pair.source), len(pair.target)) for pair in pairs])


@torch.inference_mode()
def sample_paths(
    model: ChainTransducer, pair: Encoded, noise: NDArray[np.float64]
) -> NDArray[np.int64]:
    """[target symbols and end, S] alignments of a pair, drawn; positions as in ``best_paths``.

    Args:
        model: Whose alignments are a chain.
        pair: Source and target.
        noise: [target symbols and end, S] independent and uniform in [0, 1).
    """
    device = device_of(model)
    # Double as it came: rounded to float32, noise could become 1.
    share = torch.from_numpy(noise).to(device).unsqueeze(0)
    (paths,) = model.sample_paths(collate([pair]).to(device), share)
    return np.asarray(paths.cpu().numpy(), dtype=np.int64)


def device_of(model: Transducer) -> torch.device:
    """Where a model's weights are."""
    return next(model.parameters()).device


def _spelled(pair: Encoded) -> Encoded:
    """The pair up to the first target symbol that the model has never seen."""
    if UNKNOWN not in pair.target:
        return pair
    return replace(pair, target=[*pair.target[: pair.target.index(UNKNOWN)], END])


def in_batches(answer: Callable[[list[int]], list[T]], lengths: Sequence[int]) -> list[T]:
    """Answers of all positions of ``lengths``, asked for in batches of similar length."""
    answers: dict[int, T] = {}
    for positions in batches_by_symbols(lengths, BATCH_SYMBOLS):
        answers.update(zip(positions, answer(positions), strict=True))
    return [answers[position] for position in range(len(lengths))]
