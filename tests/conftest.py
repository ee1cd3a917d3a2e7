"""Tiny models and random words that the tests share."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterable, Sequence

import torch
from hypothesis import settings

from hardalign.config import ModelConfig
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, END, RESERVED, Alphabet, Vocabulary
from hardalign.networks.batch import Batch, collate
from hardalign.networks.build import build_model
from hardalign.networks.transducer import Transducer

# The machine may be busy, and a fixed number of examples bounds the time well enough.
settings.register_profile("hardalign", deadline=None, max_examples=25)
settings.load_profile("hardalign")
torch.set_num_threads(1)
# A shell that starts the tests in the background has them ignore Ctrl-C, and so would the commands
# that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def tiny_vocabulary(
    letters: Iterable[str] = "abcd", tags: Iterable[str] = ("N", "V"), target: Iterable[str] = "xyz"
) -> Vocabulary:
    """A vocabulary of the given symbols."""
    return Vocabulary(Alphabet(tuple(letters), tuple(tags)), Alphabet(tuple(target)))


TINY = tiny_vocabulary()


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
) -> Transducer:
    """A small random model in evaluation mode.

    Args:
        system: a name in ``SYSTEMS``.
        vocabulary: its symbols.
        seed: of its weights; the global random state is left alone.
        scale: multiplies PyTorch's initial weights, so that distributions are far from uniform.
        dtype: of its weights.
        encoder_layers: LSTM layers of the encoder.
        decoder_layers: LSTM layers of the decoder.
        dropout: is not zero, so that a test fails where evaluation mode is forgotten.
    """
    config = ModelConfig(
        system,
        embedding=3,
        encoder=4,
        encoder_layers=encoder_layers,
        decoder=5,
        decoder_layers=decoder_layers,
        dropout=dropout,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = build_model(config, vocabulary)
        model.prepare([random_pair(k % 4, k % 3, seed=k, vocabulary=vocabulary) for k in range(12)])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(scale)
    return model.to(dtype).eval()


def random_pair(
    letters: int, target: int, *, seed: int = 0, tags: int = 0, vocabulary: Vocabulary = TINY
) -> Encoded:
    """Random symbols: ``letters`` after ``tags`` on the source side, ``target`` on the other."""
    generator = random.Random(f"{seed} {letters} {target} {tags}")
    first_tag = RESERVED + len(vocabulary.source.letters)
    source = [generator.randrange(first_tag, len(vocabulary.source)) for _ in range(tags)]
    source += [generator.randrange(RESERVED, first_tag) for _ in range(letters)]
    said = [generator.randrange(RESERVED, len(vocabulary.target)) for _ in range(target)]
    return Encoded([BEGIN, *source, END], tags, [*said, END])


def random_pairs(count: int, longest: int = 8, *, seed: int = 0) -> list[Encoded]:
    """Pairs of all sorts of lengths, some with tags, some with nothing but an end."""
    generator = random.Random(seed)
    return [
        random_pair(
            generator.randint(1, longest),
            generator.randint(0, longest),
            seed=generator.randrange(10**6),
            tags=generator.randint(0, 2),
        )
        for _ in range(count)
    ]


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
