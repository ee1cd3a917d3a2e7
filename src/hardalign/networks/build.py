"""A model from a row of the systems table, the sizes of a configuration and a vocabulary."""

from __future__ import annotations

from collections.abc import Callable

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Vocabulary
from hardalign.networks.actions import Oracle
from hardalign.networks.attention import Attention
from hardalign.networks.chained import ChainAttention, ChainHead, ChainTransducer, MonotoneAttention
from hardalign.networks.decoder import Decoder
from hardalign.networks.encoder import Encoder
from hardalign.networks.fed import FedTransducer
from hardalign.networks.feeding import Concatenated, FedDecoder, HardFeedHead, Merged, SoftFeedHead
from hardalign.networks.hard import HardHead
from hardalign.networks.monotonic import MonotonicTransducer
from hardalign.networks.pointer import PointerDecoder, TagFeatures
from hardalign.networks.prior import PriorAttention, PriorTransducer
from hardalign.networks.sampled import SampledPaths, SampledPositions
from hardalign.networks.sizes import full_joint, merged_joint, pointer_decoder
from hardalign.networks.soft import SoftHead
from hardalign.networks.transducer import Transducer
from hardalign.networks.unfed import UnfedTransducer
from hardalign.systems import System, find_system

Parts = tuple[type[Attention], type[HardHead] | type[SoftHead], type[UnfedTransducer]]

UNFED: dict[tuple[str, str], Parts] = {
    ("hard", "content"): (Attention, HardHead, UnfedTransducer),
    ("soft", "content"): (Attention, SoftHead, UnfedTransducer),
    ("hard", "prior"): (PriorAttention, HardHead, PriorTransducer),
    ("hard", "chain"): (ChainAttention, ChainHead, ChainTransducer),
    ("hard", "monotone chain"): (MonotoneAttention, ChainHead, ChainTransducer),
}
"""Parts of systems without input feeding, by their heads and what says where to look."""
FED_HEADS: dict[str, type[HardFeedHead] | type[SoftFeedHead]] = {
    "hard": HardFeedHead,
    "soft": SoftFeedHead,
}


def build_model(config: ModelConfig, vocabulary: Vocabulary) -> Transducer:
    """A new model with random weights.

    Raises:
        HardalignError: If there is no system of that name.
    """
    system = find_system(config.system)
    return BUILDERS[system.feeding](system, config, vocabulary)


def _unfed(system: System, config: ModelConfig, vocabulary: Vocabulary) -> Transducer:
    symbols = len(vocabulary.target)
    encoder = _encoder(config, len(vocabulary.source))
    decoder = Decoder(
        symbols, config.embedding, config.decoder, config.decoder_layers, config.dropout
    )
    attention, head, transducer = UNFED[system.head, system.attention]
    seeing = attention(2 * config.encoder, config.decoder, full_joint(config), symbols)
    objective = SampledPositions(config.samples) if system.training == "reinforce" else None
    return transducer(encoder, decoder, head(seeing), objective)


def _fed(system: System, config: ModelConfig, vocabulary: Vocabulary) -> Transducer:
    symbols = len(vocabulary.target)
    encoder = _encoder(config, len(vocabulary.source))
    feeding: Merged | Concatenated
    if system.feeding == "merged":
        feeding = Merged(config.embedding, merged_joint(config, symbols))
    else:
        feeding = Concatenated(config.embedding, full_joint(config))
    decoder = FedDecoder(
        symbols, config.embedding, feeding, config.decoder, config.decoder_layers, config.dropout
    )
    attention = Attention(2 * config.encoder, config.decoder, feeding.joint, symbols)
    objective = SampledPaths(config.samples) if system.training == "reinforce" else None
    return FedTransducer(encoder, decoder, FED_HEADS[system.head](attention), objective)


def _pointed(system: System, config: ModelConfig, vocabulary: Vocabulary) -> Transducer:  # noqa: ARG001
    actions, tags = len(vocabulary.target) + 1, len(vocabulary.source.tags)
    features = TagFeatures(tags, config.embedding, config.dropout) if tags else None
    decoder = PointerDecoder(
        actions,
        config.embedding,
        2 * config.encoder + (config.embedding if tags else 0),
        pointer_decoder(config, actions, tags),
        config.decoder_layers,
        config.dropout,
    )
    oracle = Oracle(len(vocabulary.source.letters), len(vocabulary.target.letters))
    encoder = _encoder(config, len(vocabulary.source))
    return MonotonicTransducer(encoder, decoder, oracle, features)


def _encoder(config: ModelConfig, symbols: int) -> Encoder:
    return Encoder(symbols, config.embedding, config.encoder, config.encoder_layers, config.dropout)


BUILDERS: dict[str | None, Callable[[System, ModelConfig, Vocabulary], Transducer]] = {
    None: _unfed,
    "merged": _fed,
    "concatenated": _fed,
    "pointed": _pointed,
}
"""What to compose, by how the decoder is told what attention saw."""
