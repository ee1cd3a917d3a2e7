"""Models that answer, from the tensors of a model folder; no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Vocabulary
from hardalign.systems.lattice import quiet
from hardalign.systems.model import Answering, Model
from hardalign.systems.ops import Array
from hardalign.systems.ops.numpy import NumpyOps
from hardalign.systems.options import check_options


@quiet  # weights of a training that diverges overflow in the first product
def build_model(config: ModelConfig, tensors: Mapping[str, Array], vocabulary: Vocabulary) -> Model:
    """Returns a model that answers.

    Args:
        config: The model's system and sizes.
        tensors: Its weights, which should not change: views of them are kept.
        vocabulary: Its symbols.

    Raises:
        HardalignError: If there is no system of that name, or it cannot have an option.
    """
    return check_options(config)(NumpyOps(), config, vocabulary, tensors)


def build_members(
    members: Sequence[tuple[ModelConfig, Mapping[str, Array]]],
    vocabulary: Vocabulary,
    temperature: float = 1.0,
) -> Answering:
    """Returns one model as it is, and several as an ensemble, to answer at some temperature.

    All have the same vocabulary.
    """
    models = [build_model(config, tensors, vocabulary) for config, tensors in members]
    model: Answering = models[0]
    if len(models) > 1:
        from hardalign.systems.ensemble import Ensemble

        model = Ensemble(models)
    if temperature != 1:
        from hardalign.systems.ensemble import Tempered

        model = Tempered(model, temperature)
    return model
