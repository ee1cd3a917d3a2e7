"""A model from a row of the systems table, the sizes of a configuration and a vocabulary."""

from __future__ import annotations

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Vocabulary
from hardalign.errors import HardalignError
from hardalign.models.attention import Attention
from hardalign.models.decoder import Decoder
from hardalign.models.encoder import Encoder
from hardalign.models.hard import HardHead
from hardalign.models.soft import SoftHead
from hardalign.models.systems import SYSTEMS
from hardalign.models.transducer import Transducer
from hardalign.models.unfed import UnfedTransducer

HEADS: dict[str, type[HardHead] | type[SoftHead]] = {"hard": HardHead, "soft": SoftHead}


def build_model(config: ModelConfig, vocabulary: Vocabulary) -> Transducer:
    """A new model with random weights.

    Raises:
        HardalignError: If there is no system of that name.
    """
    system = SYSTEMS.get(config.system)
    if system is None:
        known = ", ".join(SYSTEMS)
        raise HardalignError(f"no system is called {config.system!r}; there are {known}")
    encoder = Encoder(
        len(vocabulary.source),
        config.embedding,
        config.encoder,
        config.encoder_layers,
        config.dropout,
    )
    decoder = Decoder(
        len(vocabulary.target),
        config.embedding,
        config.decoder,
        config.decoder_layers,
        config.dropout,
    )
    encoded = 2 * config.encoder
    attention = Attention(encoded, config.decoder, config.decoder + encoded, len(vocabulary.target))
    return UnfedTransducer(encoder, decoder, HEADS[system.head](attention))
