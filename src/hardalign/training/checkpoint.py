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

import torch
from numpy.typing import NDArray
from torch import optim

from hardalign.errors import HardalignError
from hardalign.files import build_record, write_bytes
from hardalign.model_folder import (
    CHECKPOINT,
    METRICS,
    Tensors,
    find_model,
    load_folder,
    read_tensors,
    write_tensors,
)
from hardalign.systems.network import Network

_MODEL, _OPTIMIZER = "model", "optimizer"
_MOMENTS = ("exp_avg", "exp_avg_sq", "step")
"""What Adam keeps of each parameter."""
_FIGURES = ("loss", "learning_rate", "words_per_second", "seconds")
_MEASURED = ("dev_log_likelihood", "dev_acc", "dev_mld")
"""The numbers of an epoch's row, and those that are null without development data."""


@dataclass
class Progress:
    """How far training has come, and what it has seen on the development set."""

    learning_rate: float
    epoch: int = 0
    """Epochs completed."""
    best_log_likelihood: float | None = None
    stale: int = 0
    """Epochs that have not improved on it, since the rate was last halved."""
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

    def restore(self, model: Network, optimizer: optim.Optimizer) -> None:
        """Put model and optimizer back to where the last completed epoch left them.

        Raises:
            HardalignError: If they are not those of this model.
        """
        shapes: dict[str, tuple[int, ...]] = {
            f"{_MODEL}.{name}": tensor.shape for name, tensor in model.state_dict().items()
        }
        for number, parameter in enumerate(model.parameters()):
            for moment in _MOMENTS:
                shape = () if moment == "step" else parameter.shape
                shapes[f"{_OPTIMIZER}.{number}.{moment}"] = shape
        if {name: array.shape for name, array in self.tensors.items()} != shapes:
            raise _foreign(self.path)
        tensors = {name: torch.from_numpy(array) for name, array in self.tensors.items()}
        model.load_state_dict({name: tensors[f"{_MODEL}.{name}"] for name in model.state_dict()})
        moments = {
            number: {moment: tensors[f"{_OPTIMIZER}.{number}.{moment}"] for moment in _MOMENTS}
            for number, _ in enumerate(model.parameters())
        }
        optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """Returns what the last completed epoch left in a folder; None if none has been completed.

    Raises:
        HardalignError: If the file is damaged, or something else.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    tensors, notes = read_tensors(path)
    values = {name: value for name, value in notes.items() if value is not None}
    try:
        progress = build_record(Progress, values, "it")
    except HardalignError as error:
        raise _foreign(path) from error
    if len(progress.history) != progress.epoch or not all(map(_is_epoch, progress.history)):
        raise _foreign(path)
    return Checkpoint(path, progress, tensors)


def _is_epoch(row: dict[str, Any]) -> bool:
    """Tells whether a row has the figures of an epoch, and numbers in their places."""
    numbers = all(type(row.get(name)) in (int, float) for name in _FIGURES)
    measured = all(type(row.get(name)) in (int, float, type(None)) for name in _MEASURED)
    return numbers and measured and type(row.get("epoch")) is int and "best" in row


def save_checkpoint(
    folder: Path, model: Network, optimizer: optim.Optimizer, progress: Progress
) -> None:
    """Commit an epoch: the metrics' lines first, then the one file that decides."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in progress.history)
    write_bytes(folder / METRICS, "".join(lines).encode())
    tensors = {f"{_MODEL}.{name}": array for name, array in arrays(model).items()}
    for number, moments in optimizer.state_dict()["state"].items():
        for moment, tensor in moments.items():
            tensors[f"{_OPTIMIZER}.{number}.{moment}"] = tensor.detach().cpu().numpy()
    # Infinities stand for "nothing yet" and have no place in JSON.
    notes = {
        name: None if isinstance(value, float) and math.isinf(value) else value
        for name, value in asdict(progress).items()
    }
    write_tensors(folder / CHECKPOINT, tensors, notes)


def torch_module(model: str | Path) -> Network:
    """Return a trained network as a ``torch.nn.Module``, in evaluation mode.

    Args:
        model: The folder of a single model, such as a member of an ensemble, or a bundled model.
    """
    tensors, description = load_folder(find_model(model))
    network = Network(description.model, description.vocabulary)
    weights = {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}
    network.load_state_dict(network.state_dict() | weights)
    return network.eval()


def arrays(model: Network) -> dict[str, NDArray[Any]]:
    """Returns a model's tensors by name; on a CPU they share its memory."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}


def _foreign(path: Path) -> HardalignError:
    return HardalignError(
        f"{path}: is not the checkpoint of this run, so it cannot be resumed; "
        "bring the right file back, or start anew with --overwrite"
    )
