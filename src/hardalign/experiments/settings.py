"""From a run to the settings it is trained with: those of its size, then its overrides."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from hardalign.config import CLIPS, ModelConfig, TrainingConfig, find_size
from hardalign.errors import HardalignError
from hardalign.experiments.runs import Run
from hardalign.systems import find_system


@dataclass(frozen=True)
class CorpusOptions:
    """What of a corpus is used: the options of ``hardalign train --corpus``."""

    words: int | None = None
    strip_stress: bool = False


def _types(kind: type, without: str = "") -> dict[str, str]:
    return {one.name: str(one.type) for one in fields(kind) if one.name != without}


_MODEL = _types(ModelConfig, "system")
_TRAINING = _types(TrainingConfig, "seed")
_CORPUS = _types(CorpusOptions)
OVERRIDES = _MODEL | _TRAINING | _CORPUS
"""The settings that a plan may override, with their types as they are declared."""


@dataclass(frozen=True)
class Settings:
    """How a run is trained and on what."""

    model: ModelConfig
    training: TrainingConfig
    corpus: CorpusOptions


def settings_of(run: Run) -> Settings:
    """The settings of a run.

    Raises:
        HardalignError: If its system, its size or an override is none.
    """
    find_system(run.system)
    size = find_size(run.size)
    given = check_overrides(run.overrides)
    training = {"clip": CLIPS[run.size], "seed": run.seed} | _only(given, _TRAINING)
    return Settings(
        replace(size, system=run.system, **_only(given, _MODEL)),
        TrainingConfig(**training),
        CorpusOptions(**_only(given, _CORPUS)),
    )


def check_overrides(overrides: dict[str, Any]) -> dict[str, Any]:
    """Overrides of the right types; 5 and 5.0 become the same, so that they name the same run.

    Raises:
        HardalignError: Naming the key that is unknown or has a value of another type.
    """
    checked = {}
    for name, value in overrides.items():
        if name not in OVERRIDES:
            raise HardalignError(
                f"{name}: there is no such setting; there are {', '.join(OVERRIDES)}"
            )
        wanted = OVERRIDES[name].removesuffix(" | None")
        if wanted == "float" and type(value) is int:
            value = float(value)
        if type(value).__name__ != wanted:
            raise HardalignError(f"{name}: {value!r} is not of type {wanted}")
        checked[name] = value
    return checked


def _only(values: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}
