from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller

import pytest
import torch

from hardalign.errors import HardalignError
from hardalign.training.machine import Machine, Process, launch


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"device": "cuda", "devices": 99}, "cannot train on 99 × cuda"),
        ({"device": "tpu"}, "no device is called 'tpu'"),
        ({"device": "cpu", "devices": 0}, "devices must be at least 1"),
        ({"device": "cpu", "precision": "8"}, "no precision is called '8'"),
        ({"device": "cpu", "precision": "bf16-mixed"}, "needs a GPU"),
    ],
)
def test_machines_that_are_not_there(settings: dict[str, object], message: str) -> None:
    with pytest.raises(HardalignError, match=message):
        Machine(**settings)  # type: ignore[arg-type]


FAIL = methodcaller("no such method")


def test_threads_are_those_of_before_afterwards() -> None:
    before = torch.get_num_threads()
    assert launch(Machine("cpu"), 3, lambda _: torch.get_num_threads(), FAIL) == 3
    assert torch.get_num_threads() == before


def test_processes_agree() -> None:
    add = methodcaller("total", [])
    assert launch(Machine("cpu", 3), 1, lambda one: one.total([torch.ones(())]), add) == 1.0


@pytest.mark.parametrize("others", [FAIL, test_processes_agree])
def test_a_process_that_fails_is_noticed_at_once(others: Callable[[Process], object]) -> None:
    """Also one that cannot start, as the name of this test means nothing to another process."""
    with pytest.raises(HardalignError, match="a process of this run failed"):
        launch(Machine("cpu", 2), 1, lambda one: [one.total([]) for _ in range(3)], others)
