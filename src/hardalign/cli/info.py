"""``hardalign info``: what a model folder holds."""

from __future__ import annotations

from pathlib import Path

from hardalign.cli.options import Model
from hardalign.models.systems import find_system


def info(model: Model) -> None:
    """Describe a trained model.

    $ hardalign info runs/g2p

    Args:
        model: Folder of a trained model.
    """
    from hardalign.storage import WEIGHTS, load_model, read_tensors

    transducer, description = load_model(Path(model))
    _, notes = read_tensors(Path(model) / WEIGHTS)
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
