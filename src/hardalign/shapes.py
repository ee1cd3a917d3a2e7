"""The names and shapes of a system's parameters, from its settings and vocabulary alone.

So a model folder is checked before anything is allocated, and without torch. The names are those
of the modules in ``hardalign.networks``; a test holds both to each other.
"""

from __future__ import annotations

from collections.abc import Callable

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Vocabulary
from hardalign.options import check_options, copied_symbols, tags_beside
from hardalign.sizes import CHAIN_REACH, PRIOR_REACH, full_joint, merged_joint, pointer_decoder
from hardalign.systems import System, imported

Shapes = dict[str, tuple[int, ...]]

UNFED = "head.attention"
"""The name of T, S and W in systems without input feeding."""
ALIGNER_TABLE = "oracle.table"
"""What a pointer's model keeps of its aligner: no parameter, but learned before training begins."""
TRAINING_ONLY = frozenset({"objective.baseline.average"})
"""Tensors that some folders hold, and that no answer depends on."""


def parameter_shapes(config: ModelConfig, vocabulary: Vocabulary) -> Shapes:
    """Returns the shape of every tensor that a model's weights must have.

    Raises:
        HardalignError: If there is no system of that name, or it cannot have an option.
    """
    system = check_options(config)
    if system.builders is not None:
        outside: Shapes = imported(system.builders.shapes)(config, vocabulary)
        return outside
    shapes = _encoder(config, len(vocabulary.source))
    if system.feeding == "pointed":
        return shapes | _pointer(config, vocabulary)
    symbols, embedding = len(vocabulary.target), config.embedding
    joint = full_joint(config)
    shapes["decoder.embedding.weight"] = (symbols, embedding)
    if system.feeding is None:
        inputs = 2 * embedding if tags_beside(config, vocabulary) else embedding
        shapes |= _lstm("decoder.lstm", inputs, config.decoder, config.decoder_layers)
    else:
        inputs = embedding + joint
        if system.feeding == "merged":
            joint, inputs = merged_joint(config, symbols), embedding
            shapes |= _linear("decoder.feeding.merge", embedding + joint, embedding)
        for layer in range(config.decoder_layers):
            width = config.decoder if layer else inputs
            shapes |= _cell(f"decoder.cells.{layer}", width, config.decoder, "")
    seen = config.decoder + 2 * config.encoder
    attention = attention_name(system)
    shapes |= _linear(f"{attention}.score", 2 * config.encoder, config.decoder)
    shapes |= _linear(f"{attention}.combine", seen, joint)
    shapes |= _linear(f"{attention}.output", joint, symbols)
    if copied_symbols(config, vocabulary):
        shapes |= _linear(f"{attention}.gate", joint, 1)
    return shapes | ATTENTIONS[system.attention](attention, seen)


def attention_name(system: System) -> str:
    """Returns the name of T, S and W."""
    return UNFED if system.feedback is None else "head.mixture.attention"


def _chain(attention: str, seen: int) -> Shapes:
    return _linear(f"{attention}.jump", seen, 2 * CHAIN_REACH + 1)


ATTENTIONS: dict[str, Callable[[str, int], Shapes]] = {
    "content": lambda _attention, _seen: {},
    "prior": lambda attention, _seen: {f"{attention}.bias": (2 * PRIOR_REACH + 1,)},
    "chain": _chain,
    "monotone chain": _chain,
}
"""What each kind of attention has besides T, S and W; from its name and the width of h ⊕ e."""


def _encoder(config: ModelConfig, symbols: int) -> Shapes:
    shapes: Shapes = {"encoder.embedding.weight": (symbols, config.embedding)}
    for layer in range(config.encoder_layers):
        inputs = 2 * config.encoder if layer else config.embedding
        for direction in ("forwards", "backwards"):
            shapes |= _lstm(f"encoder.{direction}.{layer}", inputs, config.encoder, 1)
    return shapes


def _pointer(config: ModelConfig, vocabulary: Vocabulary) -> Shapes:
    """Returns what only the monotonic pointer has."""
    actions, tags = len(vocabulary.target) + 1, len(vocabulary.source.tags)
    embedding = config.embedding
    hidden = pointer_decoder(config, actions, tags)
    inputs = embedding + 2 * config.encoder + (embedding if tags else 0)
    shapes: Shapes = {"decoder.embedding.weight": (actions, embedding)}
    shapes |= _lstm("decoder.lstm", inputs, hidden, config.decoder_layers)
    shapes |= _linear("decoder.output", hidden, actions)
    if tags:
        shapes |= _linear("tags.merge", tags * embedding, embedding)
    letters = (len(vocabulary.source.letters), len(vocabulary.target.letters))
    return shapes | {ALIGNER_TABLE: (letters[0] + 2, letters[1] + 2)}


def _lstm(name: str, inputs: int, hidden: int, layers: int) -> Shapes:
    shapes: Shapes = {}
    for layer in range(layers):
        shapes |= _cell(name, hidden if layer else inputs, hidden, f"_l{layer}")
    return shapes


def _cell(name: str, inputs: int, hidden: int, suffix: str) -> Shapes:
    return {
        f"{name}.weight_ih{suffix}": (4 * hidden, inputs),
        f"{name}.weight_hh{suffix}": (4 * hidden, hidden),
        f"{name}.bias_ih{suffix}": (4 * hidden,),
        f"{name}.bias_hh{suffix}": (4 * hidden,),
    }


def _linear(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}
