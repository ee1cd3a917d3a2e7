"""Where training stands, in one file: what an interrupted run needs to go on as if it had not been.

One file, replaced as a whole after every epoch, so that there is never a moment at which weights,
optimizer and progress disagree. Random numbers need no saving: each epoch draws its own from the
seed and the epoch's number.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, optim

from hardalign.errors import HardalignError
from hardalign.files import is_of_type, write_bytes
from hardalign.folder import CHECKPOINT, METRICS
from hardalign.networks.transducer import Transducer
from hardalign.tensors import Tensors, read_tensors, write_tensors
from hardalign.training.averaging import Averaged

_MODEL, _AVERAGE, _OPTIMIZER = "model", "average", "optimizer"


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


@dataclass(frozen=True)
class Checkpoint:
    """Holds where training stood after the last complete epoch."""

    path: Path
    progress: Progress
    tensors: Tensors

    def restore(
        self, model: Transducer, optimizer: optim.Optimizer, averaged: Averaged | None
    ) -> None:
        """Put model, optimizer and means back to where the last completed epoch left them.

        Raises:
            HardalignError: If they are not those of this model.
        """
        models = {_MODEL: model} if averaged is None else {_MODEL: model, _AVERAGE: averaged.module}
        states: dict[str, dict[str, Tensor]] = {kind: {} for kind in models}
        moments: dict[int, dict[str, Tensor]] = {}
        shapes = {
            f"{kind}.{name}": tensor.shape
            for kind, network in models.items()
            for name, tensor in network.state_dict().items()
        }
        for number, parameter in enumerate(model.parameters()):
            for name in ("exp_avg", "exp_avg_sq"):
                shapes[f"{_OPTIMIZER}.{number}.{name}"] = parameter.shape
            shapes[f"{_OPTIMIZER}.{number}.step"] = torch.Size([])
        for name, array in self.tensors.items():
            if shapes.get(name) != array.shape:
                raise _foreign(self.path)
            kind, rest = name.split(".", 1)
            if kind in models:
                states[kind][rest] = torch.from_numpy(array)
            else:
                index, moment = rest.split(".")
                moments.setdefault(int(index), {})[moment] = torch.from_numpy(array)
        if self.tensors.keys() != shapes.keys():
            raise _foreign(self.path)
        for kind, network in models.items():
            network.load_state_dict(states[kind])
        optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
        if averaged is not None:
            averaged.n_averaged.copy_(moments[0]["step"])


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """Returns what the last completed epoch left in a folder; None if none has been completed.

    Raises:
        HardalignError: If the file is damaged, or something else.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    tensors, notes = read_tensors(path)
    types = {known.name: str(known.type) for known in fields(Progress)}
    values = {name: value for name, value in notes.items() if value is not None}
    if not notes.keys() <= types.keys():
        raise _foreign(path)
    if not all(is_of_type(value, types[name]) for name, value in values.items()):
        raise _foreign(path)
    if "learning_rate" not in values or len(values.get("history", [])) != values.get("epoch", 0):
        raise _foreign(path)
    return Checkpoint(path, Progress(**values), tensors)


def save_checkpoint(
    folder: Path,
    model: Transducer,
    optimizer: optim.Optimizer,
    averaged: Averaged | None,
    progress: Progress,
) -> None:
    """Commit an epoch: the metrics' lines first, then the one file that decides."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in progress.history)
    write_bytes(folder / METRICS, "".join(lines).encode())
    tensors = {f"{_MODEL}.{name}": array for name, array in arrays(model).items()}
    if averaged is not None:
        means = arrays(averaged.module)
        tensors |= {f"{_AVERAGE}.{name}": array for name, array in means.items()}
    for index, moments in optimizer.state_dict()["state"].items():
        for name, tensor in moments.items():
            tensors[f"{_OPTIMIZER}.{index}.{name}"] = tensor.detach().cpu().numpy()
    # Infinities stand for "nothing yet" and have no place in JSON.
    notes = {
        name: None if isinstance(value, float) and math.isinf(value) else value
        for name, value in asdict(progress).items()
    }
    write_tensors(folder / CHECKPOINT, tensors, notes)


def arrays(model: Transducer) -> dict[str, NDArray[Any]]:
    """Returns a model's tensors by name; on a CPU they share its memory."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}


def _foreign(path: Path) -> HardalignError:
    return HardalignError(
        f"{path}: is not the checkpoint of this run, so it cannot be resumed; "
        "bring the right file back, or start anew with overwrite"
    )
