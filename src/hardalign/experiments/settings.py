"""From a run to the settings it is trained with: those of its size, then its overrides."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from hardalign.config import CLIPS, ModelConfig, TrainingConfig, find_size
from hardalign.data.text import NORMALIZATIONS
from hardalign.errors import HardalignError
from hardalign.model_folder import MOST_MEMBERS
from hardalign.options import check_options
from hardalign.runs import Run
from hardalign.systems import find_system

_RECIPE = ("epochs", "batch_size", "learning_rate", "patience", "clip", "average", "invent")
_CORPUS = {"words": "int", "strip_stress": "bool"}
"""What of a corpus is used: the options of ``hardalign train --corpus``."""
_ROAD = {"normalization": "str", "target_parts": "bool", "members": "int", "refit": "bool"}
"""How the data is read and how many models are trained: options of ``hardalign train``."""
_MODEL = {field.name: str(field.type) for field in fields(ModelConfig) if field.name != "system"}
_TYPES = {field.name: str(field.type) for field in fields(TrainingConfig)}
_TRAINING = {name: _TYPES[name] for name in _RECIPE}
OVERRIDES = _MODEL | _TRAINING | _CORPUS | _ROAD
"""The settings that a plan may override, with their types as they are declared."""


@dataclass(frozen=True)
class Settings:
    """Says how a run is trained and on how much.

    Raises:
        HardalignError: If there cannot be so many members, or no such normal form.
    """

    model: ModelConfig
    training: TrainingConfig
    words: int | None = None
    stress: bool = True
    normalization: str = "NFC"
    target_parts: bool = False
    members: int = 1
    refit: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.members <= MOST_MEMBERS:
            raise HardalignError(f"members must be from 1 to {MOST_MEMBERS}, not {self.members}")
        if self.normalization not in NORMALIZATIONS:
            known = ", ".join(NORMALIZATIONS)
            raise HardalignError(f"normalization: {self.normalization!r} is none of {known}")

    @property
    def most_epochs(self) -> int:
        """Returns how many epochs there are at most, those of all members or of both trainings."""
        return self.training.epochs * self.members * (2 if self.refit else 1)

    @property
    def options(self) -> dict[str, Any]:
        """Returns the arguments of ``hardalign.train`` that a plan may decide, by name."""
        recipe = {name: getattr(self.training, name) for name in (*_RECIPE, "seed")}
        chosen = {"system": self.model.system, "size": self.model}
        return {**recipe, **chosen, "members": self.members, "refit": self.refit}


def settings_of(run: Run) -> Settings:
    """Returns the settings of a run.

    Raises:
        HardalignError: If it has no such system or size, or an override makes no sense.
    """
    find_system(run.system)
    size = find_size(run.size)
    overrides = check_overrides(run.overrides)
    if run.files is not None and (misplaced := sorted(set(overrides) & set(_CORPUS))):
        raise HardalignError(
            f"{misplaced[0]}: goes with corpora, not with files; edit your files instead"
        )
    model = {name: value for name, value in overrides.items() if name in _MODEL}
    training = {name: value for name, value in overrides.items() if name in _TRAINING}
    sizes = replace(size, system=run.system, **model)
    check_options(sizes)
    return Settings(
        sizes,
        TrainingConfig(**({"clip": CLIPS[run.size], "seed": run.seed} | training)),
        overrides.get("words"),
        not overrides.get("strip_stress", False),
        **{name: value for name, value in overrides.items() if name in _ROAD},
    )


def check_overrides(overrides: dict[str, Any]) -> dict[str, Any]:
    """Returns overrides of the right types; 5 and 5.0 become equal, so that they name one run.

    Raises:
        HardalignError: Naming the key that is unknown or has a value that it cannot have.
    """
    checked = {}
    for name, value in overrides.items():
        if name not in OVERRIDES:
            raise HardalignError(
                f"{name}: there is no such setting; there are {', '.join(OVERRIDES)}"
            )
        type_name = OVERRIDES[name].removesuffix(" | None")
        if type_name == "float" and type(value) is int:
            value = float(value)
        if type(value).__name__ != type_name:
            raise HardalignError(f"{name}: {value!r} is not of type {type_name}")
        if type_name == "float" and not math.isfinite(value):
            raise HardalignError(f"{name}: must be a finite number, not {value}")
        checked[name] = value
    return checked
