"""``hardalign info``: what a model folder holds."""

from __future__ import annotations

from collections.abc import Mapping

import tyro

from hardalign.cli.options import OptionalModel
from hardalign.model_folder import BUNDLED, describe_bundled, find_model
from hardalign.systems import SYSTEMS, find_system, outside_systems


def info(model: tyro.conf.Positional[OptionalModel] = None) -> None:
    """Describe a trained model, or list the systems and the models that come with hardalign.

    $ hardalign info runs/g2p

    Args:
        model: Folder of a trained model, or the name of a bundled one; without it, what there is.
    """
    if model is None:
        for name, system in (SYSTEMS | outside_systems()).items():
            print(f"{name:<20}{system.paper}  {system.summary}")
        print("\nmodels that come with hardalign:")
        for name in BUNDLED:
            figures = describe_bundled(name)
            print(
                f"{name:<20}   {figures['task']}, {figures['language']}: {figures['summary']}; "
                f"WER {figures['wer']:.1f} on {figures['words']:,} held-out words"
            )
        return

    from hardalign.model_folder import (
        WEIGHTS,
        member_folders,
        read_description,
        read_languages,
        read_tensors,
    )
    from hardalign.predictor import load

    predictor = load(model)
    description = predictor.description
    folder = find_model(model)
    ensemble = member_folders(folder, description.members) if description.members > 1 else []
    notes = [read_tensors(path / WEIGHTS)[1] for path in ensemble or [folder]]
    epochs = [str(beside.get("epoch", "unknown")) for beside in notes]
    sizes, vocabulary = description.model, description.vocabulary
    system = find_system(sizes.system)
    paper = "not in the paper" if system.paper == "–" else f"{system.paper} in the paper"
    rows = {
        "system": f"{sizes.system} ({paper}): {system.summary}",
        "parameters": f"{predictor.parameters:,}",
        "sizes": _spelled({k: v for k, v in sizes.to_dict().items() if k != "system"}),
        "source": f"{len(vocabulary.source.letters)} letters: {_some(vocabulary.source.letters)}",
        "tags": f"{len(vocabulary.source.tags)}: {_some(vocabulary.source.tags)}",
        "target": f"{len(vocabulary.target.letters)} letters: {_some(vocabulary.target.letters)}",
        "format": f"{description.format.name}: {', '.join(description.format.columns)}; "
        f"{description.format.treatment}",
        "data": _spelled(description.data.to_dict()),
        "training": _spelled(description.training.to_dict()),
        "weights": f"of epoch {', '.join(epochs)}",
        "temperature": f"{description.temperature:g}",
    }
    if languages := read_languages(folder):
        named = (f"{own[-1]} ({', '.join((tag, *own[:-1]))})" for tag, own in languages.items())
        rows["languages"] = f"{len(languages)}: {', '.join(named)}"
    if ensemble:
        systems = [read_description(path).model.system for path in ensemble]
        rows["members"] = f"{len(ensemble)}: {', '.join(systems)}"
    if description.start is not None:
        rows["began with"] = description.start
    for name, text in rows.items():
        print(f"{name:<12}{text}")


def _spelled(values: Mapping[str, object]) -> str:
    """Returns names and values in one line: ``seed 0, train (file words.tsv, examples 90)``."""
    return ", ".join(
        f"{name} ({_spelled(value)})" if isinstance(value, dict) else f"{name} {value}"
        for name, value in values.items()
    )


def _some(symbols: tuple[str, ...]) -> str:
    """Returns as many symbols as fit on a line."""
    shown = " ".join(symbols[:60])
    return shown if len(symbols) <= 60 else f"{shown} …"
