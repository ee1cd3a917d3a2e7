"""A bridge for those who still ask for a network; it goes when all answers come from NumPy."""

from __future__ import annotations

from pathlib import Path

import torch

from hardalign.folder import (
    CHECKPOINT,
    CONFIG,
    METRICS,
    VOCABULARY,
    WEIGHTS,
    Description,
    load_folder,
    read_description,
    read_tensors,
    write_description,
    write_tensors,
)
from hardalign.networks.build import build_model
from hardalign.networks.transducer import Transducer
from hardalign.training.claim import claim_folder

__all__ = [
    "CHECKPOINT",
    "CONFIG",
    "METRICS",
    "VOCABULARY",
    "WEIGHTS",
    "Description",
    "claim_folder",
    "load_model",
    "read_description",
    "read_tensors",
    "write_description",
    "write_tensors",
]


def load_model(folder: Path) -> tuple[Transducer, Description]:
    """The network of a folder with its trained weights, ready to predict."""
    tensors, description = load_folder(folder)
    model = build_model(description.model, description.vocabulary)
    weights = {name: torch.from_numpy(tensor) for name, tensor in tensors.items()}
    model.load_state_dict(weights, strict=False)
    return model.eval(), description
