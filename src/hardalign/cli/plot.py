"""``hardalign plot``: the alignment of a pair as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import tyro

from hardalign.cli.options import Model, OptionalModel, OutputFile

if TYPE_CHECKING:
    from hardalign.alignment import Alignment


def plot(
    model: Model,
    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")],
    target: Annotated[
        str | None, tyro.conf.Positional, tyro.conf.arg(metavar="TARGET", help_behavior_hint="")
    ] = None,
    *,
    beside: OptionalModel = None,
    output: OutputFile = None,
) -> None:
    """Draw the alignment of a pair.

    $ hardalign plot runs/g2p action

    $ hardalign plot runs/g2p action "AE K SH AH N" --output action.svg

    $ hardalign plot runs/soft action --beside runs/hard --output action.png

    Rows are target symbols, columns source symbols, ⊢ and ⊣ are begin and end. What the weights
    are stands above: the posterior of the alignment, attention weights, or one path.

    Args:
        model: Folder of a trained model.
        source: The source string (with tags: lemma TAB TAG;TAG).
        target: The target string; without it, the model's prediction.
        beside: Folder of another model, whose alignment is drawn on the right (in the terminal,
            below). Without a target, each model's own prediction is drawn.
        output: Write a picture, .svg or .png, instead of drawing in the terminal; needs matplotlib
            (pip install 'hardalign[plot]').
    """
    drawn = [_alignment(folder, source, target) for folder in (model, beside) if folder]
    if output is None:
        for alignment, text in drawn:
            print(f"{source} → {text}  ({alignment.title})")
            print(alignment)
        return
    (first, _), *others = drawn
    first.plot(output, beside=others[0][0] if others else None)


def _alignment(folder: str, source: str, target: str | None) -> tuple[Alignment, str]:
    from hardalign.decoding import Search
    from hardalign.predictor import load

    predictor = load(folder)
    if target is None:  # not by a call, which would warn of the symbols that `align` warns of
        ((best,),) = predictor.answers([predictor.example(source)], Search())
        target = best.text
    return predictor.align(source, target), target
