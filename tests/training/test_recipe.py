from __future__ import annotations

from dataclasses import replace

import pytest

from hardalign.config import SIZES, TrainingConfig
from hardalign.training.recipe import AUTO, decide, described


@pytest.mark.parametrize("row", range(len(AUTO)))
def test_every_amount_has_settings_of_its_own(row: int) -> None:
    above = AUTO[row - 1][0] if row else 800
    decided = decide("auto", int(above), SIZES["small"], tagged=False)
    assert decided == AUTO[row][1]
    replace(SIZES["small"], dropout=decided["dropout"])


def test_the_fewer_the_pairs_the_more_epochs_and_dropout() -> None:
    epochs = [settings["epochs"] for _, settings in AUTO]
    dropouts = [settings["dropout"] for _, settings in AUTO]
    assert epochs == sorted(epochs, reverse=True)
    assert dropouts == sorted(dropouts, reverse=True)
    assert decide("auto", 90, SIZES["small"], tagged=False)["batch_size"] == 5


def test_large_models_learn_slowly_and_are_clipped() -> None:
    small, large = (decide("auto", 20_000, SIZES[size], tagged=False) for size in SIZES)
    assert large["learning_rate"] < small["learning_rate"]
    assert large["dropout"] == 0.4
    assert "clip" not in small
    assert large["clip"]


def test_inflection_has_its_tags_beside() -> None:
    decided = decide("auto", 10_000, SIZES["small"], tagged=True)
    assert decided["tags"] == "beside"
    few, very_few = (decide("auto", pairs, SIZES["small"], tagged=True) for pairs in (500, 90))
    assert (few["copying"], few["tags"], few["hallucinate"]) == (True, "inside", 4000)
    assert (very_few["hallucinate"], very_few["batch_size"]) == (1500, 8)


@pytest.mark.parametrize(("size", "clip"), [("small", None), ("large", 5.0)])
def test_the_papers_recipe_is_the_papers(size: str, clip: float | None) -> None:
    decided = decide("paper", 10, SIZES[size], tagged=True)
    assert decided == {"epochs": 50, "batch_size": 20, "learning_rate": 0.001, "clip": clip}
    config = TrainingConfig(recipe="paper", **decided)
    assert (config.patience, config.min_learning_rate) == (1, 1e-5)


def test_what_was_decided_is_said() -> None:
    model = replace(SIZES["small"], dropout=0.4, state_dropout=0.3)
    text = described(800, model, TrainingConfig(epochs=30, batch_size=8, learning_rate=0.002))
    assert text == (
        "800 pairs: 30 epochs, batch 8, learning rate 0.002, dropout 0.4, state dropout 0.3; "
        "--recipe paper for the paper's"
    )
