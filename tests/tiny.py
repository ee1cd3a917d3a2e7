"""Tiny networks that learn, and batches for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from conftest import TINY, random_pair
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import RESERVED, Vocabulary
from hardalign.networks.batch import Batch, collate
from hardalign.networks.build import build_model
from hardalign.networks.transducer import Transducer
from models import tiny_config

torch.set_num_threads(1)


def tiny_model(
    system: str = "hard",
    vocabulary: Vocabulary = TINY,
    *,
    seed: int = 0,
    scale: float = 3.0,
    dtype: torch.dtype = torch.float64,
    encoder_layers: int = 1,
    decoder_layers: int = 1,
    dropout: float = 0.3,
    state_dropout: float | None = None,
    symbol_dropout: float | None = None,
    rare_dropout: float | None = None,
) -> Transducer:
    """A small random model in evaluation mode.

    Args:
        system: as in ``models.tiny_config``.
        vocabulary: its symbols.
        seed: of its weights; the global random state is left alone.
        scale: multiplies PyTorch's initial weights, so that distributions are far from uniform.
        dtype: of its weights.
        encoder_layers: LSTM layers of the encoder.
        decoder_layers: LSTM layers of the decoder.
        dropout: is not zero, so that a test fails where evaluation mode is forgotten.
        state_dropout: the same unless it is given.
        symbol_dropout: likewise.
        rare_dropout: likewise.
    """
    config = replace(
        tiny_config(system),
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers,
        dropout=dropout,
        state_dropout=dropout if state_dropout is None else state_dropout,
        symbol_dropout=dropout if symbol_dropout is None else symbol_dropout,
        rare_dropout=dropout if rare_dropout is None else rare_dropout,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = build_model(config, vocabulary)
        pairs = [random_pair(k % 4, k % 3, seed=k, vocabulary=vocabulary) for k in range(12)]
        model.count(pairs)
        model.prepare(pairs)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(scale)
    return model.to(dtype).eval()


def widened(pairs: Sequence[Encoded], columns: int, *, seed: int | None = None) -> Batch:
    """A batch with ``columns`` more columns of padding, filled with random symbols if seeded."""
    batch = collate(pairs)
    source = torch.nn.functional.pad(batch.source, (0, columns))
    target = torch.nn.functional.pad(batch.target, (0, columns))
    if seed is not None:
        generator = torch.Generator().manual_seed(seed)
        for padded, lengths in ((source, batch.source_lengths), (target, batch.target_lengths)):
            padding = torch.arange(padded.shape[1]) >= lengths.unsqueeze(1)
            noise = torch.randint(0, RESERVED + 3, padded.shape, generator=generator)
            padded[padding] = noise[padding]
    return Batch(source, batch.source_lengths, batch.tag_counts, target, batch.target_lengths)
