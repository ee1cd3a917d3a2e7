from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from conftest import random_pairs, tiny_model
from hardalign.folder import METRICS
from hardalign.networks.batch import collate
from hardalign.networks.transducer import Transducer
from hardalign.training.checkpoint import Progress, load_checkpoint, save_checkpoint


def stepped(seed: int) -> tuple[Transducer, torch.optim.Adam]:
    """A model after one step of Adam."""
    model = tiny_model(seed=seed, dtype=torch.float32)
    optimizer = torch.optim.Adam(model.parameters())
    model.loss(collate(random_pairs(4))).mean().backward()
    optimizer.step()
    return model, optimizer


def test_round_trip(tmp_path: Path) -> None:
    model, optimizer = stepped(0)
    progress = Progress(1e-4, epoch=2, best_log_likelihood=-1.5, history=[{"epoch": 1}])
    save_checkpoint(tmp_path, model, optimizer, progress)
    other, fresh = stepped(1)
    assert load_checkpoint(tmp_path, other, fresh) == progress
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name])
    old, new = (adam.state_dict()["state"] for adam in (optimizer, fresh))
    assert old.keys() == new.keys()
    for index, moments in old.items():
        assert all(torch.equal(moments[name], new[index][name]) for name in moments)
    assert [json.loads(row) for row in (tmp_path / METRICS).read_text().splitlines()] == [
        {"epoch": 1}
    ]


def test_no_checkpoint_yet(tmp_path: Path) -> None:
    assert load_checkpoint(tmp_path, *stepped(0)) is None


def test_the_rate_is_halved_unless_the_log_likelihood_improves() -> None:
    progress = Progress(1.0)
    rates = []
    for value in (-3.0, -2.0, -2.0, -2.5, -1.0):
        progress.record_log_likelihood(value)
        rates.append(progress.learning_rate)
    assert rates == [1.0, 1.0, 0.5, 0.25, 0.25]


@pytest.mark.parametrize(
    ("figures", "best"),
    [
        ([(50.0, 1.0), (60.0, 2.0), (55.0, 0.1)], 2),
        ([(60.0, 1.0), (60.0, 0.9), (60.0, 0.9)], 2),
        ([(0.0, 9.0), (0.0, 9.0)], 1),
    ],
)
def test_the_best_epoch(figures: list[tuple[float, float]], best: int) -> None:
    progress = Progress(1.0)
    for acc, mld in figures:
        progress.epoch += 1
        progress.record_accuracy(acc, mld)
    assert progress.best_epoch == best
