from __future__ import annotations

from dataclasses import replace

import pytest

from conftest import tiny_vocabulary
from hardalign.config import SIZES, ModelConfig
from hardalign.networks.build import build_model
from hardalign.shapes import TRAINING_ONLY, parameter_shapes
from hardalign.systems import SYSTEMS

CONFIGS = [
    SIZES["small"],
    ModelConfig(embedding=3, encoder=4, encoder_layers=3, decoder=5, decoder_layers=2),
]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("tags", [(), ("N", "V")])
def test_shapes_are_those_of_the_network(
    system: str, config: ModelConfig, tags: tuple[str, ...]
) -> None:
    config, vocabulary = replace(config, system=system), tiny_vocabulary(tags=tags)
    state = build_model(config, vocabulary).state_dict()
    shapes = {name: tuple(tensor.shape) for name, tensor in state.items()}
    assert parameter_shapes(config, vocabulary) == {
        name: shape for name, shape in shapes.items() if name not in TRAINING_ONLY
    }
