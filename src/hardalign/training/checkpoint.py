"""Where training stands, in one file: what an interrupted run needs to go on as if it had not been.

One file, replaced as a whole after every epoch, so that there is never a moment at which weights,
optimizer and progress disagree. Random numbers need no saving: each epoch draws its own from the
seed and the epoch's number.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor, optim

from hardalign.files import write_bytes
from hardalign.networks.transducer import Transducer
from hardalign.training.storage import CHECKPOINT, METRICS, read_tensors, write_tensors


@dataclass
class Progress:
    """How far training has come, and what it has seen on the development set."""

    learning_rate: float
    epoch: int = 0
    """Epochs completed."""
    best_log_likelihood: float | None = None
    best_epoch: int = 0
    """The epoch whose weights are kept; 0 before the first."""
    best_acc: float = -math.inf
    best_mld: float = math.inf
    history: list[dict[str, Any]] = field(default_factory=list)
    """One row of figures per epoch, as in ``metrics.jsonl``."""

    def record_log_likelihood(self, value: float) -> None:
        """Halve the learning rate unless the development log-likelihood has improved."""
        if self.best_log_likelihood is None or value > self.best_log_likelihood:
            self.best_log_likelihood = value
        else:
            self.learning_rate /= 2

    def record_accuracy(self, acc: float, mld: float) -> bool:
        """Whether this epoch is the best so far: most words right, then smallest distance."""
        better = (acc, -mld) > (self.best_acc, -self.best_mld)
        if better:
            self.best_epoch, self.best_acc, self.best_mld = self.epoch, acc, mld
        return better


def save_checkpoint(
    folder: Path, model: Transducer, optimizer: optim.Optimizer, progress: Progress
) -> None:
    """Commit an epoch: the metrics' lines first, then the one file that decides."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in progress.history)
    write_bytes(folder / METRICS, "".join(lines).encode())
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": tensor for name, tensor in moments.items()}
    write_tensors(folder / CHECKPOINT, tensors, _finite(asdict(progress)))


def load_checkpoint(folder: Path, model: Transducer, optimizer: optim.Optimizer) -> Progress | None:
    """Put model and optimizer back to where the last completed epoch left them.

    Returns:
        The progress, or None if no epoch has been completed yet.
    """
    if not (folder / CHECKPOINT).exists():
        return None
    tensors, notes = read_tensors(folder / CHECKPOINT)
    model.load_state_dict(
        {
            name.removeprefix("model."): tensor
            for name, tensor in tensors.items()
            if name.startswith("model.")
        }
    )
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, index, moment = name.split(".")
            moments.setdefault(int(index), {})[moment] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    return Progress(**{name: value for name, value in notes.items() if value is not None})


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Infinities stand for "nothing yet" and have no place in JSON."""
    return {
        name: None if isinstance(value, float) and math.isinf(value) else value
        for name, value in values.items()
    }
