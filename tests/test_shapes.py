from __future__ import annotations

from dataclasses import replace

import pytest

from hardalign.config import SIZES, ModelConfig
from hardalign.errors import HardalignError
from hardalign.networks.build import build_model
from hardalign.shapes import TRAINING_ONLY, parameter_shapes
from hardalign.systems import SYSTEMS
from helpers import tiny_vocabulary

CONFIGS = [
    SIZES["small"],
    ModelConfig(embedding=3, encoder=4, encoder_layers=3, decoder=5, decoder_layers=2),
]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("tags", [(), ("N", "V")])
@pytest.mark.parametrize("copying", [False, True])
@pytest.mark.parametrize("place", ["inside", "beside"])
def test_shapes_are_those_of_the_network(
    system: str, config: ModelConfig, tags: tuple[str, ...], copying: bool, place: str
) -> None:
    config, row = replace(config, system=system, copying=copying, tags=place), SYSTEMS[system]
    if row.can_copy < copying or row.can_part_tags < (place == "beside"):
        with pytest.raises(HardalignError, match=f"{system} (cannot copy|has its own way)"):
            parameter_shapes(config, tiny_vocabulary())
        return
    vocabulary = tiny_vocabulary(tags=tags, target="xya")
    state = build_model(config, vocabulary).state_dict()
    shapes = {name: tuple(tensor.shape) for name, tensor in state.items()}
    assert ("head.attention.gate.weight" in shapes) == copying
    assert parameter_shapes(config, vocabulary) == {
        name: shape for name, shape in shapes.items() if name not in TRAINING_ONLY
    }
