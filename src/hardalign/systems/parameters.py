"""Declarations of parameters: name, shape and initialisation, written once for each system.

The torch module is built from them, and model folders are checked against them before anything is
allocated. A system that needs more parameters than `soft` (3) and `hard` (4) in one place gets
fewer in another, to keep the paper's comparison fair (section 8.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hardalign.config import ModelConfig
from hardalign.systems import model_class

if TYPE_CHECKING:
    from hardalign.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class Parameter:
    """One tensor of a model."""

    shape: tuple[int, ...]
    init: float | Literal["normal"] = 0.0
    """Uniform between ± this bound; ``normal`` for embeddings, whose padding row is zero."""
    trained: bool = True


Parameters = dict[str, Parameter]
"""Parameters, by their names in model folders."""

TRAINING_ONLY = frozenset({"objective.baseline.average"})
"""Tensors in some model folders that inference does not use."""
ALIGNER_TABLE = "oracle.table"
"""The character aligner's log-probabilities in a folder of `monotonic`."""


def parameter_shapes(config: ModelConfig, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor of a model; raises like ``model_class``."""
    declared = model_class(config).parameters(config, vocabulary)
    return {name: parameter.shape for name, parameter in declared.items()}


def embedding(name: str, symbols: int, width: int) -> Parameters:
    """Declare an embedding table."""
    return {f"{name}.weight": Parameter((symbols, width), "normal")}


def linear(name: str, inputs: int, outputs: int) -> Parameters:
    """Declare a linear map with a bias, initialised like torch.nn.Linear."""
    bound = 1 / math.sqrt(inputs)
    return {
        f"{name}.weight": Parameter((outputs, inputs), bound),
        f"{name}.bias": Parameter((outputs,), bound),
    }


def lstm(name: str, inputs: int, hidden: int, layers: int = 1) -> Parameters:
    """Declare an LSTM with PyTorch's names, gates and two bias vectors."""
    declared: Parameters = {}
    for layer in range(layers):
        declared |= cell(name, hidden if layer else inputs, hidden, f"_l{layer}")
    return declared


def cell(name: str, inputs: int, hidden: int, suffix: str = "") -> Parameters:
    """Declare one layer of an LSTM."""
    shapes = {
        "weight_ih": (4 * hidden, inputs),
        "weight_hh": (4 * hidden, hidden),
        "bias_ih": (4 * hidden,),
        "bias_hh": (4 * hidden,),
    }
    bound = 1 / math.sqrt(hidden)
    return {f"{name}.{kind}{suffix}": Parameter(shape, bound) for kind, shape in shapes.items()}


def encoder(config: ModelConfig, symbols: int) -> Parameters:
    """Declare the bidirectional LSTM over the source (section 4.1)."""
    declared = embedding("encoder.embedding", symbols, config.embedding)
    for layer in range(config.encoder_layers):
        inputs = 2 * config.encoder if layer else config.embedding
        for direction in ("forwards", "backwards"):
            declared |= lstm(f"encoder.{direction}.{layer}", inputs, config.encoder)
    return declared


def attention(name: str, config: ModelConfig, joint: int, symbols: int) -> Parameters:
    """Declare T, S and W, which have the same size in hard and soft attention (4.2)."""
    encoded = 2 * config.encoder
    return (
        linear(f"{name}.score", encoded, config.decoder)
        | linear(f"{name}.combine", config.decoder + encoded, joint)
        | linear(f"{name}.output", joint, symbols)
    )


def count(declared: Parameters) -> int:
    """Return the number of trained parameters."""
    return sum(math.prod(parameter.shape) for parameter in declared.values() if parameter.trained)


def full_joint(config: ModelConfig) -> int:
    """Return d_s = 3·d_h, the total width of the decoder and encoder states that S reads."""
    return config.decoder + 2 * config.encoder


def closest(size_of: Callable[[int], int], goal: int) -> int:
    """Return the width ≥ 1 whose size is closest to the goal; ``size_of`` must be increasing."""
    above = 1
    while size_of(above) < goal:
        above *= 2
    below = above // 2
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if size_of(middle) < goal else (below, middle)
    return min(max(below, 1), above, key=lambda width: abs(size_of(width) - goal))
