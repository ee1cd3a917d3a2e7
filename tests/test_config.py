from __future__ import annotations

import math

import pytest

from hardalign.config import SIZES, ModelConfig, TrainingConfig, find_size
from hardalign.errors import HardalignError


@pytest.mark.parametrize("settings", [SIZES["large"], TrainingConfig(clip=5.0, seed=3)])
def test_round_trip(settings: ModelConfig | TrainingConfig) -> None:
    assert type(settings).from_dict(settings.to_dict()) == settings


def test_settings_of_an_earlier_version_get_defaults() -> None:
    assert ModelConfig.from_dict({"system": "soft"}) == ModelConfig("soft")


@pytest.mark.parametrize(
    ("kind", "setting", "values"),
    [
        (TrainingConfig, "epochs", [-1, 1.0, None, True]),
        (TrainingConfig, "batch_size", [0, "20"]),
        (TrainingConfig, "learning_rate", [0.0, -1.0, math.nan, math.inf, "1"]),
        (TrainingConfig, "min_learning_rate", [-1.0, math.nan]),
        (TrainingConfig, "patience", [0, 1.0, True]),
        (TrainingConfig, "clip", [-1.0, 0.0, math.inf]),
        (TrainingConfig, "seed", [2**63, 2**64, -(2**63) - 1, None]),
        (TrainingConfig, "threads", [0, 10**6]),
        (ModelConfig, "system", [None, 1, ["hard"]]),
        (ModelConfig, "embedding", [0, 10**9, 10**4000]),
        (ModelConfig, "encoder_layers", [0, 101]),
        (ModelConfig, "decoder_layers", [0, 1.5]),
        (ModelConfig, "dropout", [-0.1, 1.0, math.nan]),
        (ModelConfig, "state_dropout", [-0.1, 1.0, "much"]),
        (ModelConfig, "symbol_dropout", [1.5, math.nan]),
        (ModelConfig, "rare_dropout", [-0.5, 1.0]),
        (ModelConfig, "samples", [0]),
        (ModelConfig, "copying", [1, None, "yes"]),
        (ModelConfig, "tags", ["outside", None, True]),
    ],
)
def test_impossible_settings(kind: type, setting: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(HardalignError, match=f"{setting.replace('_', ' ')} must be"):
            kind(**{setting: value})


@pytest.mark.parametrize("values", [None, [], "x", {"system": "hard", "colour": "red"}])
def test_damaged_settings(values: object) -> None:
    with pytest.raises(
        HardalignError, match=r"ModelConfig (is damaged|has an unknown entry 'colour')"
    ):
        ModelConfig.from_dict(values)


def test_sizes_by_name() -> None:
    assert find_size("large") is SIZES["large"]
    with pytest.raises(HardalignError, match="no size is called 'medium'; there are small, large"):
        find_size("medium")
