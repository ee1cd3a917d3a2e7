from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from hardalign.config import SIZES, TrainingConfig
from hardalign.errors import HardalignError
from hardalign.experiments.settings import OVERRIDES, check_overrides, settings_of
from hardalign.runs import DataFiles, Run

FILES = DataFiles("train", "dev", "test", "pairs", "abc")


def test_sizes_are_those_of_train() -> None:
    small, large = (settings_of(Run("cmudict", "soft", size, 7)) for size in ("small", "large"))
    assert small.model == replace(SIZES["small"], system="soft")
    assert small.training == TrainingConfig(seed=7)
    assert large.model == replace(SIZES["large"], system="soft")
    assert large.training == TrainingConfig(seed=7, clip=5.0)
    assert (small.words, small.stress) == (None, True)


def test_overrides_come_last() -> None:
    overrides = {"clip": 2, "dropout": 0.1, "batch_size": 50, "words": 9, "strip_stress": True}
    found = settings_of(Run("cmudict", "hard", "large", 0, overrides))
    assert found.training == TrainingConfig(clip=2.0, batch_size=50)
    assert found.model == replace(SIZES["large"], dropout=0.1)
    assert (found.words, found.stress) == (9, False)


def test_options_of_a_model_are_overrides() -> None:
    found = settings_of(Run("cmudict", "hard", overrides={"copying": True, "tags": "beside"}))
    assert found.model == replace(SIZES["small"], copying=True, tags="beside")


def test_whole_numbers_are_numbers() -> None:
    assert repr(check_overrides({"clip": 5})) == repr(check_overrides({"clip": 5.0}))


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (Run("cmudict", "harder"), "'harder'"),
        (Run("cmudict", "hard", "huge"), "'huge'"),
        (Run("cmudict", "hard", overrides={"dropuot": 0.1}), "dropuot: .*dropout"),
        (Run("cmudict", "hard", overrides={"epochs": -1}), "epochs"),
        (Run("cmudict", "hard", overrides={"tags": "outside"}), "tags must be inside or beside"),
        (Run("cmudict", "soft", overrides={"copying": True}), "soft cannot copy"),
        (Run("cmudict", "hard", overrides={"members": 0}), "members must be from 1"),
        (Run("cmudict", "hard", overrides={"members": 10**6}), "members must be from 1"),
        (Run("cmudict", "hard", overrides={"normalization": "NFX"}), "'NFX' is none of NFC"),
        (Run("mine", "hard", overrides={"words": 9}, files=FILES), "words: goes with corpora"),
    ],
)
def test_no_such_thing(run: Run, words: str) -> None:
    with pytest.raises(HardalignError, match=words):
        settings_of(run)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 1.5),
        ("epochs", True),
        ("clip", "5"),
        ("tags", 1),
        ("strip_stress", 1),
        ("dropout", [0.1]),
    ],
)
def test_values_of_another_type(name: str, value: Any) -> None:
    with pytest.raises(HardalignError, match=f"^{name}: .*not of type"):
        check_overrides({name: value})


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_no_numbers(value: float) -> None:
    with pytest.raises(HardalignError, match=r"^dropout: must be a finite number"):
        check_overrides({"dropout": value})


def test_axes_are_no_overrides() -> None:
    assert not {"system", "seed", "size"} & OVERRIDES.keys()
