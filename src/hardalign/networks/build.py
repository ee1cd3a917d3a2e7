"""A network from a row of the systems' table, the sizes of a configuration and a vocabulary."""

from __future__ import annotations

from collections.abc import Callable

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Vocabulary
from hardalign.networks.actions import Oracle
from hardalign.networks.attention import Attention, PriorAttention
from hardalign.networks.chained import ChainAttention, ChainHead, MonotoneAttention
from hardalign.networks.decoder import Decoder
from hardalign.networks.encoder import Encoder
from hardalign.networks.fed import FedLikelihood, FedObjective, FedTransducer
from hardalign.networks.fed_heads import HardFeedHead, SoftFeedHead
from hardalign.networks.feeding import Concatenated, FedDecoder, Feeding, Merged
from hardalign.networks.monotonic import MonotonicTransducer, PointerDecoder, TagFeatures
from hardalign.networks.objectives import Particles, SampledPaths, SampledPositions
from hardalign.networks.transducer import Transducer
from hardalign.networks.unfed import (
    HardHead,
    Head,
    Likelihood,
    Objective,
    SoftHead,
    UnfedTransducer,
)
from hardalign.options import check_options, copied_symbols, tags_beside
from hardalign.sizes import full_joint, merged_joint, pointer_decoder
from hardalign.systems import System, imported

Sizes = tuple[int, int, int, int]
"""Widths of the encoder's states, the decoder's and S's, and how many target symbols there are."""

HEADS: dict[tuple[str, str], Callable[[Sizes], Head]] = {
    ("hard", "content"): lambda sizes: HardHead(Attention(*sizes)),
    ("hard", "prior"): lambda sizes: HardHead(PriorAttention(*sizes)),
    ("hard", "chain"): lambda sizes: ChainHead(ChainAttention(*sizes)),
    ("hard", "monotone chain"): lambda sizes: ChainHead(MonotoneAttention(*sizes)),
    ("soft", "content"): lambda sizes: SoftHead(Attention(*sizes)),
    ("soft", "prior"): lambda sizes: SoftHead(PriorAttention(*sizes)),
}
"""Heads of systems without input feeding, by head and attention."""
OBJECTIVES: dict[str, Callable[[ModelConfig], Objective]] = {
    "likelihood": lambda config: Likelihood(),  # noqa: ARG005
    "reinforce": lambda config: SampledPositions(config.samples),
}
"""What trains systems without input feeding."""
FED_OBJECTIVES: dict[str, Callable[[ModelConfig], FedObjective[HardFeedHead]]] = {
    "reinforce": lambda config: SampledPaths(config.samples),
    "particles": lambda config: Particles(config.samples),
}
"""What trains hard attention with input feeding."""


def build_model(config: ModelConfig, vocabulary: Vocabulary) -> Transducer:
    """Returns a new network with random weights.

    Raises:
        HardalignError: If there is no system of that name, or it cannot have an option.
    """
    system = check_options(config)
    if system.builders is not None:
        network: Transducer = imported(system.builders.network)(config, vocabulary)
        return network
    return compose(system, config, vocabulary)


def compose(system: System, config: ModelConfig, vocabulary: Vocabulary) -> Transducer:
    """Returns a new network of the parts that a row names."""
    if system.feeding is None:
        make_head, objective = HEADS[system.head, system.attention], OBJECTIVES[system.objective]
        return unfed(config, vocabulary, make_head, objective(config))
    if system.feeding == "pointed":
        return _pointed(config, vocabulary)
    return _fed(system, config, vocabulary)


def unfed(
    config: ModelConfig,
    vocabulary: Vocabulary,
    make_head: Callable[[Sizes], Head],
    objective: Objective,
) -> Transducer:
    """Returns a system without input feeding, of some head and objective."""
    symbols, tags = len(vocabulary.target), tags_beside(config, vocabulary)
    encoder = _encoder(config, len(vocabulary.source))
    decoder = Decoder(
        symbols,
        config.embedding,
        config.decoder,
        config.decoder_layers,
        config.dropout,
        config.symbol_dropout,
        config.rare_dropout,
        tags=config.embedding if tags else 0,
    )
    head = make_head((2 * config.encoder, config.decoder, full_joint(config), symbols))
    if copied := copied_symbols(config, vocabulary):
        head.attention.copy_symbols(copied)
    return UnfedTransducer(encoder, decoder, head, objective, tags)


def _fed(system: System, config: ModelConfig, vocabulary: Vocabulary) -> Transducer:
    symbols = len(vocabulary.target)
    encoder = _encoder(config, len(vocabulary.source))
    feeding: Feeding = Concatenated(config.embedding, full_joint(config))
    if system.feeding == "merged":
        feeding = Merged(config.embedding, merged_joint(config, symbols))
    decoder = FedDecoder(
        symbols,
        config.embedding,
        feeding,
        config.decoder,
        config.decoder_layers,
        config.dropout,
        config.symbol_dropout,
    )
    attention = Attention(2 * config.encoder, config.decoder, feeding.joint, symbols)
    if system.feedback is None:
        return FedTransducer(encoder, decoder, SoftFeedHead(attention), FedLikelihood())
    head = HardFeedHead(attention, system.feedback)
    return FedTransducer(encoder, decoder, head, FED_OBJECTIVES[system.objective](config))


def _pointed(config: ModelConfig, vocabulary: Vocabulary) -> Transducer:
    actions, tags = len(vocabulary.target) + 1, len(vocabulary.source.tags)
    features = TagFeatures(tags, config.embedding, config.dropout) if tags else None
    decoder = PointerDecoder(
        actions,
        config.embedding,
        2 * config.encoder + (config.embedding if tags else 0),
        pointer_decoder(config, actions, tags),
        config.decoder_layers,
        config.dropout,
        config.symbol_dropout,
    )
    oracle = Oracle(len(vocabulary.source.letters), len(vocabulary.target.letters))
    encoder = _encoder(config, len(vocabulary.source))
    return MonotonicTransducer(encoder, decoder, oracle, features)


def _encoder(config: ModelConfig, symbols: int) -> Encoder:
    return Encoder(
        symbols,
        config.embedding,
        config.encoder,
        config.encoder_layers,
        config.dropout,
        config.state_dropout,
        config.rare_dropout,
    )
