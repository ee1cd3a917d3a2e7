from __future__ import annotations

import math

import pytest

from hardalign.config import SETTINGS, SIZES, ModelConfig, TrainingConfig, check_settings, find_size
from hardalign.errors import HardalignError


@pytest.mark.parametrize("settings", [SIZES["large"], TrainingConfig(clip=5.0, seed=3)])
def test_round_trip(settings: ModelConfig | TrainingConfig) -> None:
    assert type(settings).from_dict(settings.to_dict()) == settings


def test_settings_of_an_earlier_version_are_read() -> None:
    assert ModelConfig.from_dict({"system": "soft"}) == ModelConfig("soft")
    assert ModelConfig.from_dict({"rare_dropout": 0.1}) == ModelConfig(unk_dropout=0.1)
    old = TrainingConfig.from_dict({"epochs": 3, "invent": 5, "average": True})
    assert old == TrainingConfig("paper", epochs=3, hallucinate=5)


def test_settings_by_name() -> None:
    given = {"dropout": "0.3", "clip": "none", "copying": "true", "tags": "beside", "epochs": "7"}
    checked = {"dropout": 0.3, "clip": None, "copying": True, "tags": "beside", "epochs": 7}
    assert check_settings(given, text=True) == checked
    assert check_settings({"words": "5"}, text=True, others={"words": int}) == {"words": 5}
    assert repr(check_settings({"clip": 5})) == "{'clip': 5.0}"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("dropuot", "0.3", "no setting is called 'dropuot'; did you mean dropout"),
        ("rare_dropout", "0.3", "did you mean unk_dropout"),
        ("zzz", "1", "there are embedding, "),
        ("dropout", "3", "dropout must be float < 1.0, not '3'"),
        ("copying", "maybe", "copying must be bool, not 'maybe'"),
        ("tags", "outside", "tags must be inside or beside, not 'outside'"),
    ],
)
def test_settings_that_there_are_not(name: str, value: str, message: str) -> None:
    with pytest.raises(HardalignError, match=message):
        check_settings({name: value}, text=True)


def test_every_setting_has_its_help() -> None:
    assert all(len(text) > 5 for _, text in SETTINGS.values())


@pytest.mark.parametrize(
    ("kind", "setting", "values"),
    [
        (TrainingConfig, "epochs", [-1, 1.0, None, True]),
        (TrainingConfig, "batch_size", [0, "20"]),
        (TrainingConfig, "learning_rate", [0.0, -1.0, math.nan, math.inf, "1"]),
        (TrainingConfig, "min_learning_rate", [-1.0, math.nan]),
        (TrainingConfig, "patience", [0, 1.0, True]),
        (TrainingConfig, "clip", [-1.0, 0.0, math.inf]),
        (TrainingConfig, "seed", [2**63, 2**64, -(2**63) - 1, None, "\ud800"]),
        (TrainingConfig, "threads", [0, 10**6]),
        (ModelConfig, "system", [None, 1, ["hard"]]),
        (ModelConfig, "embedding", [0, 10**9, 10**4000]),
        (ModelConfig, "encoder_layers", [0, 101]),
        (ModelConfig, "decoder_layers", [0, 1.5]),
        (ModelConfig, "dropout", [-0.1, 1.0, math.nan]),
        (ModelConfig, "state_dropout", [-0.1, 1.0, "much"]),
        (ModelConfig, "symbol_dropout", [1.5, math.nan]),
        (ModelConfig, "unk_dropout", [-0.5, 1.0]),
        (ModelConfig, "samples", [0]),
        (ModelConfig, "copying", [1, None, "yes"]),
        (ModelConfig, "tags", ["outside", None, True]),
    ],
)
def test_impossible_settings(kind: type, setting: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(HardalignError, match=f"{setting} must be"):
            kind(**{setting: value})


@pytest.mark.parametrize("values", [None, [], "x", {"system": "hard", "colour": "red"}])
def test_damaged_settings(values: object) -> None:
    with pytest.raises(
        HardalignError, match=r"ModelConfig (must be an object|has an unknown entry 'colour')"
    ):
        ModelConfig.from_dict(values)


def test_sizes_by_name() -> None:
    assert find_size("large") is SIZES["large"]
    with pytest.raises(HardalignError, match="no size is called 'medium'; there are small, large"):
        find_size("medium")
