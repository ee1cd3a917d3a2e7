from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hardalign
from hardalign.errors import HardalignError
from hardalign.model_folder import (
    CHECKPOINT,
    METRICS,
    WEIGHTS,
    read_tensors,
    write_description,
    write_tensors,
)
from hardalign.systems import SYSTEMS
from hardalign.systems.network import Network, collate
from hardalign.training.run import Progress, restore_checkpoint, save_checkpoint
from helpers import random_pairs, tiny_model, tiny_predictor, tiny_tensors

FIGURES = dict.fromkeys(
    ("loss", "dev_log_likelihood", "dev_acc", "dev_mld", "words_per_second", "seconds"), 1.5
) | {"learning_rate": 0.001, "best": True, "epoch": 1}


def stepped(seed: int, system: str = "hard") -> tuple[Network, torch.optim.Adam]:
    """A model after one step of Adam."""
    model = tiny_model(system, seed=seed, dtype=torch.float32)
    optimizer = torch.optim.Adam(model.parameters())
    model.loss(collate(random_pairs(4))).mean().backward()
    optimizer.step()
    return model, optimizer


def saved(folder: Path) -> tuple[Network, torch.optim.Adam, Progress]:
    model, optimizer = stepped(0)
    history = [{**FIGURES, "epoch": 1}, {**FIGURES, "epoch": 2}]
    progress = Progress(1e-4, epoch=2, best_log_likelihood=-1.5, history=history)
    save_checkpoint(folder, model, optimizer, progress)
    return model, optimizer, progress


def test_round_trip(tmp_path: Path) -> None:
    model, optimizer, progress = saved(tmp_path)
    other, fresh = stepped(1)
    assert restore_checkpoint(tmp_path, other, fresh) == progress
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name])
    old, new = (adam.state_dict()["state"] for adam in (optimizer, fresh))
    assert old.keys() == new.keys()
    for index, moments in old.items():
        assert all(torch.equal(moments[name], new[index][name]) for name in moments)
    rows = [json.loads(row) for row in (tmp_path / METRICS).read_text().splitlines()]
    assert rows == progress.history


def test_no_checkpoint_yet(tmp_path: Path) -> None:
    assert restore_checkpoint(tmp_path, *stepped(0)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"epoch": 1.5},
        {"epoch": 7},
        {"history": "all"},
        {"history": [FIGURES, {"epoch": 2}]},
        {"history": [FIGURES, FIGURES | {"loss": "low"}]},
        {"history": [FIGURES, FIGURES | {"epoch": True}]},
        {"learning_rate": None},
        {"learning_rate": "small"},
        {"colour": "red"},
    ],
)
def test_progress_of_something_else(change: dict[str, Any], tmp_path: Path) -> None:
    saved(tmp_path)
    tensors, notes = read_tensors(tmp_path / CHECKPOINT)
    write_tensors(tmp_path / CHECKPOINT, tensors, {**notes, **change})
    with pytest.raises(HardalignError, match="is not the checkpoint of this run"):
        restore_checkpoint(tmp_path, *stepped(0))


@pytest.mark.parametrize("system", ["hard-hmm", "soft-feed", "monotonic"])
def test_weights_of_another_model(system: str, tmp_path: Path) -> None:
    saved(tmp_path)
    model, optimizer = stepped(0, system)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(HardalignError, match="is not the checkpoint of this run"):
        restore_checkpoint(tmp_path, model, optimizer)
    assert all(torch.equal(before[name], now) for name, now in model.state_dict().items())


@pytest.mark.parametrize("name", ["optimizer.0.momentum", "optimizer.x.step", "strange"])
def test_tensors_of_another_program(name: str, tmp_path: Path) -> None:
    saved(tmp_path)
    tensors, notes = read_tensors(tmp_path / CHECKPOINT)
    write_tensors(tmp_path / CHECKPOINT, {**tensors, name: np.zeros(3)}, notes)
    with pytest.raises(HardalignError, match="is not the checkpoint of this run"):
        restore_checkpoint(tmp_path, *stepped(0))


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_trained_network_can_be_had(system: str, tmp_path: Path) -> None:
    predict = tiny_predictor(system)
    write_description(tmp_path, predict.description)
    write_tensors(tmp_path / WEIGHTS, tiny_tensors(system, dtype=np.float32), {"epoch": 0})
    network = hardalign.torch_module(tmp_path)
    assert isinstance(network, torch.nn.Module)
    assert not network.training
    pair = replace(predict.example("abc\tN"), targets=(tuple("xyx"),))
    value = network.log_likelihood(collate([predict.indexer.pair(pair)]))
    assert value.item() == pytest.approx(predict.log_prob("abc\tN", "xyx"), abs=1e-5)
