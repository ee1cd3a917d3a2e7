from __future__ import annotations

from dataclasses import replace

import pytest

from hardalign.config import SIZES, ModelConfig
from hardalign.data.vocabulary import RESERVED
from hardalign.errors import HardalignError
from hardalign.systems import SYSTEMS
from hardalign.systems.input_feeding import SoftFeed
from hardalign.systems.network import Network
from hardalign.systems.parameters import TRAINING_ONLY, closest, full_joint, parameter_shapes
from helpers import tiny_vocabulary

CORPORA = {"CMUDict": (31, 43), "NETtalk": (30, 55)}
"""Source and target symbols of the paper's splits, with the reserved ones."""
PAPER = {
    ("CMUDict", "small"): (1_198_843, 1_199_007, 1_678_843, 506),
    ("CMUDict", "large"): (8_564_043, 8_564_107, 10_484_043, 1006),
    ("NETtalk", "small"): (1_207_155, 1_206_947, 1_687_155, 507),
}
"""Parameters of systems 3, 4 and R, of 1 and 2, and of U; d_s of 1 and 2."""


def build(config: ModelConfig, source: int, target: int) -> Network:
    letters = [chr(0x4E00 + k) for k in range(max(source, target))]
    vocabulary = tiny_vocabulary(letters[: source - RESERVED], (), letters[: target - RESERVED])
    return Network(config, vocabulary)


def parameters(config: ModelConfig, source: int, target: int) -> int:
    return sum(value.numel() for value in build(config, source, target).parameters())


@pytest.mark.parametrize(("corpus", "size"), PAPER)
def test_parameters_as_in_the_paper(corpus: str, size: str):
    without_feeding, merged, concatenated, _ = PAPER[corpus, size]
    expected = {
        "soft": without_feeding,
        "hard": without_feeding,
        "hard-sampled": without_feeding,
        "soft-feed": merged,
        "hard-feed": merged,
        "soft-feed-large": concatenated,
    }
    found = {
        system: parameters(replace(SIZES[size], system=system), *CORPORA[corpus])
        for system in expected
    }
    assert found == expected


@pytest.mark.parametrize(("corpus", "size"), PAPER)
def test_joint_size_as_in_the_paper(corpus: str, size: str):
    assert SoftFeed.joint_width(SIZES[size], CORPORA[corpus][1]) == PAPER[corpus, size][3]
    assert full_joint(SIZES[size]) == 3 * SIZES[size].decoder


@pytest.mark.parametrize("symbols", [5, 8, 40])
@pytest.mark.parametrize("embedding", [3, 10])
def test_no_other_joint_size_comes_closer(symbols: int, embedding: int):
    config = ModelConfig("soft-feed", embedding=embedding, encoder=6, decoder=7)
    goal = parameters(replace(config, system="soft"), 9, symbols)
    found = SoftFeed.joint_width(config, symbols)
    distances = {}
    for joint in (found - 1, found, found + 1):
        model = build(config, 9, symbols)
        shapes = [value.numel() for value in model.parameters()]
        # One unit of d_s: a row of S and its bias, a column of W, a column of the merge.
        unit = full_joint(config) + 1 + symbols + embedding
        distances[joint] = abs(sum(shapes) + (joint - found) * unit - goal)
    assert min(distances, key=distances.__getitem__) == found


@pytest.mark.parametrize("goal", [-5, 0, 1, 7, 99, 100, 101, 5000])
@pytest.mark.parametrize("slope", [1, 3, 10])
def test_closest(goal: int, slope: int):
    def count(size: int) -> int:
        return slope * size + 2

    found = closest(count, goal)
    assert found >= 1
    best = min(abs(count(size) - goal) for size in range(1, 6000))
    assert abs(count(found) - goal) == best


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
    if row.model.can_copy < copying or row.model.can_set_tags_beside < (place == "beside"):
        with pytest.raises(HardalignError, match=f"{system} (cannot copy|cannot have tags beside)"):
            parameter_shapes(config, tiny_vocabulary())
        return
    vocabulary = tiny_vocabulary(tags=tags, target="xya")
    state = Network(config, vocabulary).state_dict()
    shapes = {name: tuple(tensor.shape) for name, tensor in state.items()}
    assert ("head.attention.gate.weight" in shapes) == copying
    assert parameter_shapes(config, vocabulary) == {
        name: shape for name, shape in shapes.items() if name not in TRAINING_ONLY
    }
