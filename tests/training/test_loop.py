from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.corpora import load_corpus
from hardalign.data.formats import Example
from hardalign.data.reading import Origin
from hardalign.data.vocabulary import Vocabulary, shuffled_batches
from hardalign.errors import HardalignError
from hardalign.model_folder import METRICS, WEIGHTS, Description, read_tensors
from hardalign.systems.network import Network, collate
from hardalign.training import loop
from hardalign.training.loop import Scores, find_device, train
from hardalign.training.recipe import cosine_rate
from hardalign.training.run import Reporter, Run, open_folder

TOY = load_corpus("toy:copy", size=80)
SMALL = ModelConfig("hard", embedding=8, encoder=8, decoder=8, dropout=0.0)


def a_run(folder: Path, sizes: ModelConfig = SMALL, resume: bool = False, **training: Any) -> Run:
    options = {"recipe": "paper", "epochs": 2, "batch_size": 7, "learning_rate": 1e-3, **training}
    config = TrainingConfig(**options)
    description = Description(sizes, config, TOY.format, Vocabulary.of(TOY.train), Origin())
    return open_folder(Run(folder, description, TOY.train, TOY.dev, "cpu", resume=resume))


def again(folder: Path, **options: Any) -> None:
    """Resume what is in the folder."""
    train(a_run(folder, resume=True, **options), Reporter())


def run(folder: Path, **options: Any) -> list[dict[str, Any]]:
    return train(a_run(folder, **options), Reporter()).history


def saved_rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


def test_loss_falls(tmp_path: Path) -> None:
    losses = [row["loss"] for row in run(tmp_path, epochs=8, learning_rate=0.01)]
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
    rates = [row["learning_rate"] for row in saved_rows(tmp_path)]
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


def test_divergence_is_reported(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match=r"diverged in epoch .*learning_rate"):
        run(tmp_path, learning_rate=3e38)


def test_one_cosine_rises_to_the_peak_and_falls_to_zero(tmp_path: Path) -> None:
    config = TrainingConfig(learning_rate=0.5, warmup=0.1)
    rates = [cosine_rate(config, step, 1000) for step in range(1000)]
    assert max(rates) == pytest.approx(0.5, rel=1e-3)
    assert rates.index(max(rates)) == pytest.approx(100, abs=2)
    assert 0 < rates[0] < 0.006
    assert 0 < rates[-1] < 1e-4
    assert rates[550] == pytest.approx(0.25, rel=0.01)
    assert all(a < b for a, b in pairwise(rates[:100]))
    assert all(a > b for a, b in pairwise(rates[101:]))
    history = run(tmp_path, recipe="auto", epochs=3, learning_rate=0.01)
    assert [row["best"] for row in history] == [True] * 3
    assert history[0]["learning_rate"] > history[1]["learning_rate"] > history[2]["learning_rate"]
    assert read_tensors(tmp_path / WEIGHTS)[1] == {"epoch": 3}


@pytest.mark.parametrize("clip", [None, 1e-3])
@pytest.mark.parametrize("recipe", ["auto", "paper"])
def test_the_gradient_is_that_of_the_mean_over_pairs_or_symbols(
    recipe: str, clip: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Computed anew at the first step: the norm before clipping, and that after it."""
    seen: list[float] = []

    def step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        gradients = [p.grad.flatten() for p in optimizer.param_groups[0]["params"]]
        seen.append(torch.cat(gradients).norm().item())

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    one = a_run(tmp_path, recipe=recipe, clip=clip, epochs=1)
    train(one, Reporter())
    draw = random.Random("0 0")
    batch = shuffled_batches(one.pairs, 7, draw)[0]
    torch.manual_seed(0)
    model = Network(SMALL, one.description.vocabulary)
    model.prepare(one.pairs)
    symbols = sum(len(pair.target) for pair in batch)
    assert symbols > len(batch)
    loss = model.loss(collate(batch)).sum()
    (loss / (len(batch) if recipe == "auto" else symbols)).backward()
    expected = torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item()
    assert expected > 1e-2
    assert seen[0] == pytest.approx(expected if clip is None else clip, rel=1e-3)


def test_no_development_set(tmp_path: Path) -> None:
    one = replace(a_run(tmp_path, recipe="auto"), dev=[])
    rows = train(one, Reporter()).history
    assert [row["dev_acc"] for row in rows] == [None, None]
    assert saved_rows(tmp_path) == rows


def test_devices() -> None:
    assert find_device("cpu").type == "cpu"
    for name, message in (("tpu", "no device is called 'tpu'"), ("mps", "there is no mps device")):
        with pytest.raises(HardalignError, match=message):
            find_device(name)


def test_development_set(tmp_path: Path) -> None:
    vocabulary = Vocabulary.of([Example(("a",), (("x", "y"),))])
    examples = [
        Example(("a",), (("x",),)),
        Example(("a",), (("y",), ("x", "z"))),
        Example(("b",), (("y",),)),
    ]
    description = Description(SMALL, TrainingConfig(), TOY.format, vocabulary, Origin())
    one = Run(tmp_path, description, [], examples)
    assert len(one.dev_pairs) == 3  # no target has z
    references = [targets for _, targets in one.dev_words]
    assert references == [(("x",), ("y",), ("x", "z")), (("y",),)]
