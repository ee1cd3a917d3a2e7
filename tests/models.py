"""Tiny models of every system that answer, made of random numbers, without torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from conftest import TINY, random_pairs
from hardalign import aligner
from hardalign.aligner import aligner_pair
from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.formats import FORMATS
from hardalign.data.vocabulary import END, RESERVED, Alphabet, Vocabulary
from hardalign.folder import Description
from hardalign.origin import Origin
from hardalign.predictor import Predictor
from hardalign.runtime import Runtime, build_runtime
from hardalign.shapes import parameter_shapes
from hardalign.systems import SYSTEMS
from hardalign.tensors import Tensors

COPYING = [f"{name} copying" for name, system in SYSTEMS.items() if system.can_copy]
BESIDE = [f"{name} beside" for name, system in SYSTEMS.items() if system.can_part_tags]
VARIANTS = [*SYSTEMS, *COPYING, *BESIDE, "hard-hmm copying beside"]
"""Systems, also with options, as the functions of this module take them."""


def tiny_config(system: str = "hard", layers: int = 1) -> ModelConfig:
    """Sizes that are all different, so that none can stand for another.

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
    """As many symbols, some of them on both sides, with other numbers there."""
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
    """Random weights, no bias among them zero.

    Args:
        system: As in ``tiny_config``.
        vocabulary: Its symbols; of models that copy, as ``spelled_alike`` makes them.
        seed: Of the weights.
        scale: How far from uniform distributions are.
        layers: LSTM layers of the encoder and of the decoder.
        end: Is added to the bias of the end, which makes strings shorter or longer.
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
    """Random weights of any sizes; see ``tiny_tensors``."""
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
) -> Runtime[Any, Any]:
    """A model of random weights; options are those of ``tiny_tensors``."""
    tensors = tiny_tensors(system, vocabulary, layers=layers, **options)
    return runtime_of(system, tensors, vocabulary, layers)


def runtime_of(
    system: str, tensors: Tensors, vocabulary: Vocabulary = TINY, layers: int = 1
) -> Runtime[Any, Any]:
    """The model whose weights ``tiny_tensors`` made."""
    return build_runtime(tiny_config(system, layers), tensors, spelled_alike(vocabulary))


def tiny_predictor(
    system: str = "hard",
    layout: str = "sigmorphon",
    vocabulary: Vocabulary = TINY,
    **options: Any,
) -> Predictor:
    """A predictor of random weights in float32; options are those of ``tiny_tensors``."""
    return Predictor(
        tiny_runtime(system, vocabulary, **{"dtype": np.float32, **options}),
        tiny_description(system, layout, vocabulary),
    )
