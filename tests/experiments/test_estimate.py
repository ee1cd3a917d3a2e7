from __future__ import annotations

from pathlib import Path

import pytest

from experiments.conftest import write_epochs
from hardalign.experiments.engine import prepare
from hardalign.experiments.estimate import SPEEDS, USUAL_EPOCHS, USUAL_PAIRS, Estimate, epochs_of
from hardalign.experiments.runs import Run


def test_what_nothing_is_known_of(tmp_path: Path) -> None:
    estimate = Estimate(tmp_path / "none")
    run = Run("cmudict", "hard")
    assert not estimate.measured(run)
    assert estimate.seconds(run) == USUAL_EPOCHS * USUAL_PAIRS / SPEEDS["small"]
    assert estimate.seconds(Run("cmudict", "hard", overrides={"words": 100, "epochs": 3})) == (
        3 * 100 / SPEEDS["small"]
    )
    assert estimate.seconds(Run("cmudict", "hard", "large")) > estimate.seconds(run)


@pytest.mark.parametrize(
    ("name", "pairs"),
    [("g2p/CMUDict", 113_000), ("conll2017/danish", 10_000), ("news15/EnHi", 13_000)],
)
def test_pairs_from_the_size_of_a_file(name: str, pairs: int, tmp_path: Path) -> None:
    seconds = Estimate(tmp_path).seconds(Run(name, "hard", overrides={"epochs": 1}))
    assert seconds * SPEEDS["small"] == pytest.approx(pairs, rel=0.2)


def test_measured_speed(tmp_path: Path) -> None:
    """1000 words at 200 words/s, and a quarter of that time more for validation."""
    done = Run("toy:copy", "hard", overrides={"epochs": 4})
    prepare(tmp_path, done)
    write_epochs(tmp_path / done.name, [-1.0, -0.5], speed=200.0)
    estimate = Estimate(tmp_path)
    assert estimate.measured(done)
    assert estimate.seconds(done) == pytest.approx(2 * 1.25 * 1000 / 200)  # two are left to do
    assert estimate.seconds(Run("toy:copy", "hard", seed=1, overrides={"epochs": 4})) == (
        pytest.approx(4 * 1.25 * 1000 / 200)
    )
    other = Run("toy:copy", "soft", overrides={"epochs": 4})
    assert not estimate.measured(other)
    assert estimate.seconds(other) == pytest.approx(4 * 1250 / SPEEDS["small"])


def test_small_models_say_nothing_of_larger_ones(tmp_path: Path) -> None:
    tiny = Run("toy:copy", "hard", overrides={"embedding": 8})
    prepare(tmp_path, tiny)
    write_epochs(tmp_path / tiny.name, [-1.0], speed=9999.0)
    assert not Estimate(tmp_path).measured(Run("toy:copy", "hard"))


def test_epochs_of(tmp_path: Path) -> None:
    assert epochs_of(tmp_path) == []
    write_epochs(tmp_path, [-2.0, -1.0])
    assert [row["dev_log_likelihood"] for row in epochs_of(tmp_path)] == [-2.0, -1.0]
