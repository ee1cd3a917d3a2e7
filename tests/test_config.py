from __future__ import annotations

import pytest

from hardalign.config import SIZES, ModelConfig, TrainingConfig, find_size
from hardalign.errors import HardalignError


@pytest.mark.parametrize("settings", [SIZES["large"], TrainingConfig(clip=5.0, seed=3)])
def test_round_trip(settings: ModelConfig | TrainingConfig) -> None:
    assert type(settings).from_dict(settings.to_dict()) == settings


def test_settings_of_an_earlier_version_get_defaults() -> None:
    assert ModelConfig.from_dict({"system": "soft"}) == ModelConfig("soft")


@pytest.mark.parametrize(
    ("setting", "value"),
    [("epochs", -1), ("batch_size", 0), ("learning_rate", 0.0), ("clip", -1.0)],
)
def test_impossible_settings(setting: str, value: float) -> None:
    with pytest.raises(HardalignError, match=f"--{setting.replace('_', '-')} must be"):
        TrainingConfig(**{setting: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [None, [], "x", {"system": "hard", "colour": "red"}])
def test_damaged_settings(values: object) -> None:
    with pytest.raises(HardalignError, match=r"ModelConfig.*(missing|colour)"):
        ModelConfig.from_dict(values)


def test_sizes_by_name() -> None:
    assert find_size("large") is SIZES["large"]
    with pytest.raises(HardalignError, match="no size is called 'medium'; there are small, large"):
        find_size("medium")
