"""Where models are: folders, runs of a grid, and models that come with the package.

A bundled model is in a folder of its name beside this file.
"""

from __future__ import annotations

from pathlib import Path

from hardalign.files import explained

BUNDLED = {"en-g2p": "English words into ARPAbet phonemes with stress, trained on CMUDict"}
"""The names of bundled models, each with its description."""

RUN, MODEL = "run.json", "model"
"""What is in the folder of a run: what the run is, and its model."""


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
            return Path(__file__).parent / folder
        return folder
