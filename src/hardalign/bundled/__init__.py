"""Where models are: folders, runs of a grid, and models that come with the package.

A bundled model is in a folder of its name beside this file; ``recipes/models.py`` made it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hardalign.files import explained
from hardalign.records import read_json

FIGURES = "figures.json"
"""The file of a bundled model that says what it is for, and how good on words it has never seen."""
RUN, MODEL = "run.json", "model"
"""What is in the folder of a run: what the run is, and its model."""

_HERE = Path(__file__).parent

BUNDLED = tuple(sorted(file.parent.name for file in _HERE.glob(f"*/{FIGURES}")))
"""The names of bundled models."""


def bundled_folder(name: str) -> Path:
    """Returns the folder of a bundled model, which may be still to come."""
    return _HERE / name


def describe_bundled(name: str) -> dict[str, Any]:
    """Returns task, language, summary and held-out figures of a bundled model."""
    content: dict[str, Any] = read_json(bundled_folder(name) / FIGURES)
    return content


def model_folder(model: str | Path) -> Path:
    """Returns the folder of a model: of a run, the one named, or a bundled one of that name.

    Raises:
        HardalignError: If it lies in a folder that may not be searched, or cannot be a name.
    """
    folder = Path(model)
    with explained(folder, "read"):
        if (folder / RUN).is_file():
            return folder / MODEL
        if str(model) in BUNDLED and not folder.is_dir():
            return bundled_folder(str(model))
        return folder
