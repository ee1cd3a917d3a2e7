"""``hardalign plot``: the alignment of a pair as a heat map."""

from __future__ import annotations

from typing import Annotated

import tyro

from hardalign.cli.options import Model


def plot(
    model: Model,
    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")],
    target: Annotated[
        str | None, tyro.conf.Positional, tyro.conf.arg(metavar="TARGET", help_behavior_hint="")
    ] = None,
) -> None:
    """Draw the alignment of a pair.

    $ hardalign plot runs/g2p action

    $ hardalign plot runs/g2p action "AE K SH AH N"

    Args:
        model: Folder of a trained model.
        source: The source string (with tags: lemma TAB TAG;TAG).
        target: The target string; without it, the model's prediction.
    """
    from hardalign.predictor import load

    predictor = load(model)
    if target is None:
        target = predictor(source).text
    alignment = predictor.align(source, target)
    print(f"{source} → {target}")
    print(alignment)
