from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.corpora import load_corpus
from hardalign.data.formats import Example
from hardalign.data.origin import Origin
from hardalign.data.vocabulary import Indexer, Vocabulary
from hardalign.errors import HardalignError
from hardalign.model_folder import WEIGHTS, Description, read_tensors
from hardalign.training import loop
from hardalign.training.checkpoint import read_checkpoint
from hardalign.training.claim import claim_folder
from hardalign.training.job import Development, Job, Reporter
from hardalign.training.loop import Scores, train
from hardalign.training.machine import Machine

TOY = load_corpus("toy:copy", size=80)
SMALL = ModelConfig(embedding=8, encoder=8, decoder=8, dropout=0.0)


def job(folder: Path, sizes: ModelConfig = SMALL, resume: bool = False, **training: Any) -> Job:
    settings = TrainingConfig(**{"epochs": 2, "batch_size": 7, **training})
    description = Description(sizes, settings, TOY.format, Vocabulary.of(TOY.train), Origin())
    return Job.of(folder, claim_folder(folder, description, resume=resume), TOY.train, TOY.dev)


def again(folder: Path, **options: Any) -> None:
    """Resume what is in the folder."""
    train(job(folder, resume=True, **options), Machine("cpu"), Reporter())


def run(folder: Path, devices: int = 1, **options: Any) -> list[dict[str, Any]]:
    machine = Machine("cpu", devices)
    return train(job(folder, **options), machine, Reporter()).history


def test_loss_falls(tmp_path: Path) -> None:
    losses = [row["loss"] for row in run(tmp_path, epochs=5, learning_rate=0.01)]
    assert losses[-1] < 0.9 * losses[0]


def test_the_seed_decides(tmp_path: Path) -> None:
    dropping = replace(SMALL, dropout=0.3)
    first, again, other = (
        [row["loss"] for row in run(tmp_path / str(k), sizes=dropping, seed=seed)]
        for k, seed in enumerate((0, 0, 1))
    )
    assert first == again
    assert first != other


def test_training_ends_when_the_rate_is_small(tmp_path: Path) -> None:
    # At this rate nothing improves: every epoch but the first halves it.
    history = run(tmp_path, epochs=50, learning_rate=3.0, min_learning_rate=1.0)
    rates = [row["learning_rate"] for row in history]
    assert rates[-1] / 2 < 1.0 <= rates[-1]
    assert len(history) < 50


def test_the_rate_is_halved_unless_the_log_likelihood_improves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = iter((-3.0, -2.0, -2.0, -2.5, -1.0, -1.0))
    scores = (Scores(value, 0.0, 0.0) for value in values)
    monkeypatch.setattr(loop, "development_scores", lambda *_: next(scores))
    rates = [row["learning_rate"] for row in run(tmp_path, epochs=6, learning_rate=1.0)]
    assert rates == [1.0, 1.0, 1.0, 0.5, 0.25, 0.25]


def test_patience_waits_for_so_many_bad_epochs_in_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = (-3.0, -3.0, -2.0, -2.0, -2.5, -2.0, -2.5, -1.0)
    scores = (Scores(value, 0.0, 0.0) for value in values)
    monkeypatch.setattr(loop, "development_scores", lambda *_: next(scores))
    options = {"learning_rate": 1.0, "patience": 2}
    run(tmp_path, epochs=4, **options)
    again(tmp_path, epochs=8, **options)  # an interruption does not begin to count anew
    rates = [row["learning_rate"] for row in read_checkpoint(tmp_path).progress.history]
    assert rates == [1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.25]


@pytest.mark.parametrize(
    ("figures", "best"),
    [
        ([(50.0, 1.0), (60.0, 2.0), (55.0, 0.1)], [1, 2]),
        ([(60.0, 1.0), (60.0, 0.9), (60.0, 0.9)], [1, 2]),
        ([(0.0, 9.0), (0.0, 9.0)], [1]),
    ],
)
def test_the_best_epoch_is_kept(
    figures: list[tuple[float, float]],
    best: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = (Scores(-1.0, *figure) for figure in figures)
    monkeypatch.setattr(loop, "development_scores", lambda *_: next(scores))
    history = run(tmp_path, epochs=len(figures))
    assert [row["epoch"] for row in history if row["best"]] == best
    assert read_tensors(tmp_path / WEIGHTS)[1] == {"epoch": best[-1]}


def test_weights_that_are_gone_come_back_or_are_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = iter([50.0, 60.0, 55.0])
    monkeypatch.setattr(loop, "development_scores", lambda *_: Scores(-1.0, next(figures), 0.0))
    run(tmp_path, epochs=2)
    before = (tmp_path / WEIGHTS).read_bytes()
    (tmp_path / WEIGHTS).unlink()
    again(tmp_path, epochs=2)
    assert (tmp_path / WEIGHTS).read_bytes() == before
    again(tmp_path, epochs=3)
    (tmp_path / WEIGHTS).unlink()
    with pytest.raises(HardalignError, match="weights of the best epoch, 2, are gone"):
        again(tmp_path, epochs=3)


def test_two_processes_do_what_one_does(tmp_path: Path) -> None:
    """The same global batches, so the same losses; 7 does not divide by 2, and 67 not by 7."""
    one, two = (run(tmp_path / str(devices), devices) for devices in (1, 2))
    for row, other in zip(one, two, strict=True):
        for figure in ("loss", "dev_log_likelihood", "dev_acc"):
            assert other[figure] == pytest.approx(row[figure], rel=1e-5)


def test_clipping_changes_the_run(tmp_path: Path) -> None:
    free, clipped = (
        [row["loss"] for row in run(tmp_path / str(clip), clip=clip)] for clip in (None, 1e-3)
    )
    assert free != clipped


@pytest.mark.parametrize("devices", [1, 2])
def test_divergence_is_reported(devices: int, tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match=r"diverged in epoch .*smaller learning rate"):
        run(tmp_path, devices, learning_rate=3e38)


def test_precision(tmp_path: Path) -> None:
    machine = Machine("cpu", precision="64-true")
    double = train(job(tmp_path / "64"), machine, Reporter()).history[-1]["loss"]
    single = run(tmp_path / "32")[-1]["loss"]
    assert double == pytest.approx(single, rel=1e-4)
    assert double != single


def test_development_set() -> None:
    vocabulary = Vocabulary.of([Example(("a",), (("x", "y"),))])
    examples = [
        Example(("a",), (("x",),)),
        Example(("a",), (("y",), ("x", "z"))),
        Example(("b",), (("y",),)),
    ]
    development = Development.of(examples, Indexer(vocabulary))
    assert len(development.pairs) == 3
    assert development.unspellable == 1
    assert development.references == [(("x",), ("y",), ("x", "z")), (("y",),)]
    assert len(development.sources) == 2
