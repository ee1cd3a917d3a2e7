"""The models of a server, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hardalign.errors import HardalignError
from hardalign.predictor import Predictor, load
from hardalign.systems import SCORES, find_system


def load_models(models: Iterable[str]) -> dict[str, Predictor]:
    """Load models, named after the last part of their paths, or all of it where that is not enough.

    Raises:
        HardalignError: If one cannot be loaded, or is given twice.
    """
    given = list(models)
    count = Counter(Path(model).name for model in given)
    named: dict[str, Predictor] = {}
    for model in given:
        name = Path(model).name
        name = name if name and count[name] == 1 else model
        if name in named:
            raise HardalignError(f"{model}: is given twice")
        named[name] = load(model)
    return named


def describe_models(models: Mapping[str, Predictor]) -> list[dict[str, Any]]:
    """What users should know of each model before they ask it."""
    return [_describe(name, predictor) for name, predictor in models.items()]


def _describe(name: str, predictor: Predictor) -> dict[str, Any]:
    description = predictor.description
    system = find_system(description.model.system)
    tagged = "tags" in description.format.columns
    return {
        "name": name,
        "system": description.model.system,
        "summary": system.summary,
        "alignment": system.alignment,
        "score": SCORES[system.score],
        "exact": system.score == "exact",
        "source_separator": description.format.source_separator,
        "target_separator": description.format.target_separator,
        "tag_separator": description.format.tag_separator,
        "tags": list(description.vocabulary.source.tags) if tagged else [],
    }
