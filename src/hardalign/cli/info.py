"""``hardalign info``: what a model folder holds."""

from __future__ import annotations

from typing import Annotated

import tyro

from hardalign.models.systems import SYSTEMS, find_system


def info(
    model: Annotated[
        str | None, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL", help_behavior_hint="")
    ] = None,
) -> None:
    """Describe a trained model, or the systems that can be trained.

    $ hardalign info runs/g2p

    Args:
        model: Folder of a trained model; without it, the systems are listed.
    """
    if model is None:
        for name, system in SYSTEMS.items():
            print(f"{name:<17}{system.paper}  {system.summary}")
        return

    from hardalign.bundled import model_folder
    from hardalign.storage import WEIGHTS, load_model, read_tensors

    folder = model_folder(model)
    transducer, description = load_model(folder)
    _, notes = read_tensors(folder / WEIGHTS)
    sizes, vocabulary = description.model, description.vocabulary
    system = find_system(sizes.system)
    rows = {
        "system": f"{sizes.system} ({system.paper} in the paper): {system.summary}",
        "parameters": f"{sum(parameter.numel() for parameter in transducer.parameters()):,}",
        "sizes": ", ".join(f"{k} {v}" for k, v in sizes.to_dict().items() if k != "system"),
        "source": f"{len(vocabulary.source.letters)} letters: {_some(vocabulary.source.letters)}",
        "tags": f"{len(vocabulary.source.tags)}: {_some(vocabulary.source.tags)}",
        "target": f"{len(vocabulary.target.letters)} letters: {_some(vocabulary.target.letters)}",
        "format": f"{description.format.name}, {description.format.normalization}",
        "data": ", ".join(f"{k} {v}" for k, v in description.data.items()),
        "training": ", ".join(f"{k} {v}" for k, v in description.training.to_dict().items()),
        "weights": f"of epoch {notes['epoch']}",
    }
    for name, text in rows.items():
        print(f"{name:<12}{text}")


def _some(symbols: tuple[str, ...]) -> str:
    """As many symbols as fit on a line."""
    shown = " ".join(symbols[:60])
    return shown if len(symbols) <= 60 else f"{shown} …"
