from __future__ import annotations

from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch

from hardalign.errors import HardalignError
from hardalign.model_folder import CHECKPOINT, WEIGHTS, read_tensors
from hardalign.systems.network import collate
from hardalign.training import loop
from hardalign.training.averaging import DECAY, Averaged
from hardalign.training.checkpoint import Progress, read_checkpoint, save_checkpoint
from hardalign.training.loop import Scores
from helpers import random_pairs, tiny_model
from training.test_loop import run


class Trained:
    """A model in training, with its mean."""

    def __init__(self, seed: int = 0) -> None:
        self.model = tiny_model("hard", seed=seed)
        self.optimizer = torch.optim.Adam(self.model.parameters(), 0.01)
        self.averaged = Averaged(self.model, self.optimizer)

    def step(self) -> list[torch.Tensor]:
        """Step once; returns the weights after it."""
        self.optimizer.zero_grad()
        self.model.loss(collate(random_pairs(4))).mean().backward()
        self.optimizer.step()
        return [parameter.detach().clone() for parameter in self.model.parameters()]


def test_the_mean_is_that_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    assert DECAY == 0.999
    monkeypatch.setattr("hardalign.training.averaging.DECAY", 0.8)
    trained = Trained()
    means = trained.step()
    for steps in range(1, 60):
        decay = min(0.8, (1 + steps) / (10 + steps))  # the smaller below 35 steps
        weights = trained.step()
        means = [decay * a + (1 - decay) * b for a, b in zip(means, weights, strict=True)]
    for mean, parameter in zip(means, trained.averaged.module.parameters(), strict=True):
        torch.testing.assert_close(parameter.detach(), mean, rtol=1e-12, atol=1e-12)


def test_a_checkpoint_goes_on_with_it(tmp_path: Path) -> None:
    trained = Trained()
    for _ in range(3):
        trained.step()
    progress = Progress(1e-3)
    save_checkpoint(tmp_path, trained.model, trained.optimizer, trained.averaged, progress)
    checkpoint = read_checkpoint(tmp_path)
    assert checkpoint is not None
    resumed = Trained(seed=1)
    checkpoint.restore(resumed.model, resumed.optimizer, resumed.averaged)
    for one in (trained, resumed):
        one.step()
    after = resumed.averaged.module.state_dict()
    for name, tensor in trained.averaged.module.state_dict().items():
        assert torch.equal(tensor, after[name])
    with pytest.raises(HardalignError, match="is not the checkpoint of this run"):
        checkpoint.restore(resumed.model, resumed.optimizer, None)


def test_the_mean_is_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    better = (Scores(-1.0, float(acc), 0.0) for acc in count())
    monkeypatch.setattr(loop, "development_scores", lambda *_: next(better))
    run(tmp_path / "mean", epochs=2, average=True)
    run(tmp_path / "last", epochs=2)
    weights, _ = read_tensors(tmp_path / "mean" / WEIGHTS)
    checkpoint, notes = read_tensors(tmp_path / "mean" / CHECKPOINT)
    last, _ = read_tensors(tmp_path / "last" / CHECKPOINT)
    assert notes["best_epoch"] == 2
    for name, array in weights.items():
        assert np.array_equal(array, checkpoint[f"average.{name}"])
        # The steps themselves are not changed by it.
        assert np.array_equal(checkpoint[f"model.{name}"], last[f"model.{name}"])
    assert any(not np.array_equal(array, last[f"model.{name}"]) for name, array in weights.items())
