"""A runtime from a row of the systems' table and the tensors of a model folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Vocabulary
from hardalign.options import check_options, copied_symbols, tags_beside
from hardalign.runtime.interface import Runtime
from hardalign.runtime.numbers import Floats, unwarned
from hardalign.shapes import UNFED, attention_name
from hardalign.systems import CHAINS, System, imported

if TYPE_CHECKING:
    from hardalign.runtime.attention import Attention
    from hardalign.runtime.unfed import Unfed

AnyUnfed = TypeVar("AnyUnfed", bound="Unfed")


@unwarned  # weights of a training that diverges overflow in the first product
def build_runtime(
    config: ModelConfig, tensors: Mapping[str, Floats], vocabulary: Vocabulary
) -> Runtime[Any, Any]:
    """Returns a model that answers; only what its system needs is imported.

    Args:
        config: The model's system and sizes.
        tensors: Its weights by the names that ``hardalign.networks`` gives them; views are kept of
            them, so that they should not change.
        vocabulary: Its symbols.

    Raises:
        HardalignError: If there is no system of that name, or it cannot have an option.
    """
    system = check_options(config)
    if system.builders is not None:
        runtime: Runtime[Any, Any] = imported(system.builders.runtime)(config, tensors)
        return runtime
    if system.feeding == "pointed":
        from hardalign.runtime.pointer import Pointer

        return Pointer(tensors, (config.encoder_layers, config.decoder_layers))
    if system.feeding is not None:
        return _fed(system, config, tensors)
    return _unfed(system, config, tensors, vocabulary)


def build_members(
    members: Sequence[tuple[ModelConfig, Mapping[str, Floats]]],
    vocabulary: Vocabulary,
    temperature: float = 1.0,
) -> Runtime[Any, Any]:
    """Returns one model as it is, and several as an ensemble, to answer at some temperature.

    All have the same vocabulary.
    """
    runtimes = [build_runtime(config, tensors, vocabulary) for config, tensors in members]
    runtime = runtimes[0]
    if len(runtimes) > 1:
        from hardalign.runtime.ensemble import Ensemble

        runtime = Ensemble(runtimes)
    if temperature != 1:
        from hardalign.runtime.tempered import Tempered

        runtime = Tempered(runtime, temperature)
    return runtime


def build_unfed(
    kind: type[AnyUnfed],
    config: ModelConfig,
    tensors: Mapping[str, Floats],
    attention: Attention,
    copied: Sequence[int] = (),
    tags: int = 0,
) -> AnyUnfed:
    """Returns some kind of system without input feeding, with some attention.

    The last two arguments are what ``copied_symbols`` and ``tags_beside`` return.
    """
    from hardalign.runtime.decoder import Decoder
    from hardalign.runtime.encoder import Encoder
    from hardalign.runtime.output import Output

    return kind(
        Encoder(tensors, config.encoder_layers),
        Decoder(tensors, config.decoder_layers, tags),
        attention,
        Output(tensors, UNFED, config.decoder, copied),
    )


def _unfed(
    system: System, config: ModelConfig, tensors: Mapping[str, Floats], vocabulary: Vocabulary
) -> Runtime[Any, Any]:
    from hardalign.runtime.attention import Attention, PriorAttention
    from hardalign.runtime.unfed import Hard, Soft

    options = copied_symbols(config, vocabulary), tags_beside(config, vocabulary)
    if system.attention in CHAINS:
        from hardalign.runtime.chained import ChainAttention, Chained

        monotone = system.attention == "monotone chain"
        chain = ChainAttention(tensors, UNFED, config.decoder, monotone)
        return build_unfed(Chained, config, tensors, chain, *options)
    attention = (PriorAttention if system.attention == "prior" else Attention)(tensors, UNFED)
    kind = Soft if system.head == "soft" else Hard
    return build_unfed(kind, config, tensors, attention, *options)


def _fed(system: System, config: ModelConfig, tensors: Mapping[str, Floats]) -> Runtime[Any, Any]:
    from hardalign.runtime.attention import Attention
    from hardalign.runtime.encoder import Encoder
    from hardalign.runtime.fed import AlphaFed, FedDecoder, HardFed, SoftFed
    from hardalign.runtime.output import Output

    name = attention_name(system)
    parts = (
        Encoder(tensors, config.encoder_layers),
        FedDecoder(tensors, config.decoder_layers, len(tensors[f"{name}.combine.bias"])),
        Attention(tensors, name),
        Output(tensors, name, config.decoder),
    )
    if system.head == "soft":
        return SoftFed(*parts)
    return (HardFed if system.feedback == "posterior" else AlphaFed)(*parts)
