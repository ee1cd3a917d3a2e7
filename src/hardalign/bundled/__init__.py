"""Models that come with the package, each in a folder of its name beside this file."""

from __future__ import annotations

from pathlib import Path

BUNDLED = {"en-g2p": "English words into ARPAbet phonemes with stress, trained on CMUDict"}
"""Their names, each with its description."""


def model_folder(model: str | Path) -> Path:
    """The folder of a model: the one named or, where there is none, a bundled one of that name."""
    folder = Path(model)
    if str(model) in BUNDLED and not folder.is_dir():
        return Path(__file__).parent / folder
    return folder
