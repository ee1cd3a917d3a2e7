"""Random words, tiny models of every system, and commands run in this process.

Functions that need torch import it themselves, so that tests of prediction run without it.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hardalign import aligner
from hardalign.aligner import aligner_pair
from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.formats import FORMATS, Example, Format
from hardalign.data.reading import FileOrigin, Origin
from hardalign.data.vocabulary import BEGIN, END, RESERVED, Alphabet, Encoded, Vocabulary
from hardalign.model_folder import WEIGHTS, Description, Tensors, write_description, write_tensors
from hardalign.predictor import Predictor
from hardalign.systems import SYSTEMS
from hardalign.systems.model import Answering, build_model
from hardalign.systems.parameters import parameter_shapes

if TYPE_CHECKING:
    import torch

    from hardalign.systems.network import Batch, Network


def tiny_vocabulary(
    letters: Iterable[str] = "abcd", tags: Iterable[str] = ("N", "V"), target: Iterable[str] = "xyz"
) -> Vocabulary:
    """A vocabulary of the given symbols."""
    return Vocabulary(Alphabet(tuple(letters), tuple(tags)), Alphabet(tuple(target)))


TINY = tiny_vocabulary()


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


def random_pairs(
    count: int, longest: int = 8, *, seed: int = 0, vocabulary: Vocabulary = TINY
) -> list[Encoded]:
    """Pairs of various lengths, some with tags, some with an empty target."""
    generator = random.Random(seed)
    most_tags = 2 if vocabulary.source.tags else 0
    return [
        random_pair(
            generator.randint(1, longest),
            generator.randint(0, longest),
            seed=generator.randrange(10**6),
            tags=generator.randint(0, most_tags),
            vocabulary=vocabulary,
        )
        for _ in range(count)
    ]


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Fail what takes more processor time; wall-clock time includes other work."""

    def late(*_: object) -> None:
        pytest.fail(f"takes more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def eventually(happened: Callable[[], bool], within: float = 300.0) -> None:
    """Wait for another thread or process to do something, even on a busy machine."""
    deadline = time.monotonic() + within
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


COPYING = [f"{name} copying" for name, system in SYSTEMS.items() if system.model.can_copy]
BESIDE = [f"{name} beside" for name, system in SYSTEMS.items() if system.model.can_set_tags_beside]
VARIANTS = [*SYSTEMS, *COPYING, *BESIDE, "hard-hmm copying beside"]
"""Systems, with and without options, as functions here take them."""


def tiny_config(system: str = "hard", layers: int = 1) -> ModelConfig:
    """Sizes that all differ, so that none can be mistaken for another.

    The name of a system may be followed by options: "hard copying beside".
    """
    name, *options = system.split()
    return ModelConfig(
        name,
        embedding=3,
        encoder=4,
        encoder_layers=layers,
        decoder=5,
        decoder_layers=layers,
        copying="copying" in options,
        tags="beside" if "beside" in options else "inside",
    )


def copied(system: str, vocabulary: Vocabulary = TINY) -> dict[int, int]:
    """The target number of each source number that a tiny model copies."""
    source, target = vocabulary.source.letters, spelled_alike(vocabulary).target.letters
    both = [symbol for symbol in source if symbol in target]
    if "copying" not in system:
        return {}
    return {RESERVED + source.index(s): RESERVED + target.index(s) for s in both}


def spelled_alike(vocabulary: Vocabulary) -> Vocabulary:
    """As many symbols, some of them on both sides under other numbers."""
    letters = vocabulary.source.letters[::-1]
    target = [
        letters[k] if k < min(2, len(letters)) else symbol
        for k, symbol in enumerate(vocabulary.target.letters)
    ]
    return Vocabulary(vocabulary.source, Alphabet(tuple(target)))


def tiny_description(
    system: str = "hard",
    layout: str = "sigmorphon",
    vocabulary: Vocabulary = TINY,
    *,
    layers: int = 1,
) -> Description:
    """Describes a model whose weights are ``tiny_tensors``."""
    config = tiny_config(system, layers)
    vocabulary = spelled_alike(vocabulary) if config.copying else vocabulary
    return Description(config, TrainingConfig(), FORMATS[layout], vocabulary, Origin())


def tiny_tensors(
    system: str = "hard",
    vocabulary: Vocabulary = TINY,
    *,
    seed: int = 0,
    scale: float = 5.0,
    layers: int = 1,
    end: float = 0.0,
    dtype: type[np.floating[Any]] = np.float64,
) -> Tensors:
    """Random weights, with nonzero biases.

    Args:
        system: As in ``tiny_config``.
        vocabulary: Its symbols; of models that copy, as ``spelled_alike`` makes them.
        seed: Of the weights.
        scale: How far from uniform distributions are.
        layers: LSTM layers of the encoder and of the decoder.
        end: Added to the bias of the end, to make strings shorter or longer.
        dtype: Of the weights.
    """
    config, vocabulary = tiny_config(system, layers), spelled_alike(vocabulary)
    return random_tensors(config, vocabulary, seed=seed, scale=scale, end=end, dtype=dtype)


def random_tensors(
    config: ModelConfig,
    vocabulary: Vocabulary,
    *,
    seed: int = 0,
    scale: float = 1.0,
    end: float = 0.0,
    dtype: type[np.floating[Any]] = np.float32,
) -> Tensors:
    """Random weights for any sizes; see ``tiny_tensors``."""
    generator = np.random.default_rng(seed)
    tensors = {}
    for name, shape in parameter_shapes(config, vocabulary).items():
        width = 1 if "embedding" in name else shape[-1]
        tensors[name] = generator.normal(0, scale / width**0.5, shape).astype(dtype)
        if name.endswith("output.bias"):
            tensors[name][END] += end
    if "oracle.table" in tensors:
        sizes = (len(vocabulary.source.letters) + 1, len(vocabulary.target.letters) + 1)
        pairs = random_pairs(12, seed=seed, vocabulary=vocabulary)
        table = aligner.fit([aligner_pair(pair) for pair in pairs], *sizes)
        table[0, 0] = 0  # never read, and not finite
        tensors["oracle.table"] = table.astype(np.float32)
    return tensors


def tiny_runtime(
    system: str = "hard", vocabulary: Vocabulary = TINY, *, layers: int = 1, **options: Any
) -> Answering:
    """A model with random weights; options are those of ``tiny_tensors``."""
    tensors = tiny_tensors(system, vocabulary, layers=layers, **options)
    return runtime_of(system, tensors, vocabulary, layers)


def runtime_of(
    system: str, tensors: Tensors, vocabulary: Vocabulary = TINY, layers: int = 1
) -> Answering:
    """The model with weights by ``tiny_tensors``."""
    return build_model(tiny_config(system, layers), tensors, spelled_alike(vocabulary))


def tiny_predictor(
    system: str = "hard",
    layout: str = "sigmorphon",
    vocabulary: Vocabulary = TINY,
    **options: Any,
) -> Predictor:
    """A predictor with random float32 weights; options are those of ``tiny_tensors``."""
    return Predictor(
        tiny_runtime(system, vocabulary, **{"dtype": np.float32, **options}),
        tiny_description(system, layout, vocabulary),
    )


def tiny_model(
    system: str = "hard",
    vocabulary: Vocabulary = TINY,
    *,
    seed: int = 0,
    scale: float = 3.0,
    dtype: torch.dtype | None = None,
    encoder_layers: int = 1,
    decoder_layers: int = 1,
    dropout: float = 0.3,
    state_dropout: float | None = None,
    symbol_dropout: float | None = None,
    unk_dropout: float | None = None,
) -> Network:
    """A small random model in evaluation mode.

    Args:
        system: as in ``tiny_config``.
        vocabulary: its symbols.
        seed: of its weights; the global random state is left alone.
        scale: multiplies PyTorch's initial weights, so that distributions are far from uniform.
        dtype: of its weights; float64 unless given.
        encoder_layers: LSTM layers of the encoder.
        decoder_layers: LSTM layers of the decoder.
        dropout: nonzero, so that tests fail if evaluation mode is forgotten.
        state_dropout: by default the same.
        symbol_dropout: likewise.
        unk_dropout: likewise.
    """
    import torch

    from hardalign.systems.network import Network

    config = replace(
        tiny_config(system),
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers,
        dropout=dropout,
        state_dropout=dropout if state_dropout is None else state_dropout,
        symbol_dropout=dropout if symbol_dropout is None else symbol_dropout,
        unk_dropout=dropout if unk_dropout is None else unk_dropout,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Network(config, vocabulary)
        pairs = [random_pair(k % 4, k % 3, seed=k, vocabulary=vocabulary) for k in range(12)]
        model.count(pairs)
        model.prepare(pairs)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(scale)
    return model.to(dtype or torch.float64).eval()


def widened(pairs: Sequence[Encoded], columns: int, *, seed: int | None = None) -> Batch:
    """A batch with ``columns`` more columns of padding, filled with random symbols if seeded."""
    import torch

    from hardalign.systems.network import Batch, collate

    batch = collate(pairs)
    words, targets = batch.words, batch.targets
    source = torch.nn.functional.pad(words.symbols, (0, columns))
    target = torch.nn.functional.pad(targets.symbols, (0, columns))
    if seed is not None:
        generator = torch.Generator().manual_seed(seed)
        for padded, lengths in ((source, words.lengths), (target, targets.lengths)):
            padding = torch.arange(padded.shape[1]) >= lengths.unsqueeze(1)
            noise = torch.randint(0, RESERVED + 3, padded.shape, generator=generator)
            padded[padding] = noise[padding]
    return Batch(replace(words, symbols=source), replace(targets, symbols=target))


WORDS = ("ab", "ba", "abc", "cab", "bca", "c")
PAIRS = "".join(f"{word}\t{word.upper()}\n" for word in WORDS)
EXAMPLES = [Example(tuple(word), (tuple(word.upper()),)) for word in WORDS]


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Command = Callable[..., Result]


def write_model(
    folder: Path,
    system: str = "hard",
    end: float = 0.0,
    *,
    scale: float = 1.0,
    examples: Sequence[Example] = EXAMPLES,
    layout: Format = FORMATS["pairs"],
) -> Path:
    """Write an untrained model of the pairs, as training does but without torch."""
    config = ModelConfig(system, embedding=8, encoder=8, decoder=8)
    vocabulary = Vocabulary.of(examples)
    origin = FileOrigin("pairs.tsv", len(examples), "0" * 64)
    data = Origin(train=origin, dev=origin)
    folder.mkdir()
    write_description(folder, Description(config, TrainingConfig(), layout, vocabulary, data))
    tensors = random_tensors(config, vocabulary, scale=scale, end=end)
    write_tensors(folder / WEIGHTS, tensors, {"epoch": 0})
    return folder


def assert_complains(result: Result, *words: object) -> None:
    """Assert that a command failed properly: with one line that says what and where."""
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("hardalign: ")
    assert result.err.count("\n") == 1
    for word in words:
        assert str(word) in result.err
