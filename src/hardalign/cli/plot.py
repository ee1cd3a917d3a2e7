"""``hardalign plot``: the alignment of a pair as a heat map."""

from __future__ import annotations

from typing import Annotated

import tyro

from hardalign.cli.console import note
from hardalign.cli.options import Model, OptionalModel, OutputFile, Text, optional


def plot(
    model: Model,
    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")],
    target: Annotated[Text, tyro.conf.Positional, optional("TARGET")] = None,
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
        model: Folder of a trained model, or the name of a bundled one.
        source: The source string (with tags: lemma TAB TAG;TAG).
        target: The target string; without it, the model's prediction.
        beside: Another model, whose alignment is drawn on the right (in the terminal, below).
            Without a target, each model's own prediction is drawn.
        output: Write a picture, .svg or .png, instead of drawing in the terminal; needs the
            extra plot.
    """
    from hardalign.cli.remarks import CUT_OFF
    from hardalign.predictor import load
    from hardalign.search import Search

    texts, alignments = [], []
    for predictor in [load(folder) for folder in (model, beside) if folder]:
        text = target
        if text is None:  # not by a call, which would warn of the symbols that `align` warns of
            ((best,),) = predictor.answers([predictor.example(source)], Search())
            text = best.text
            if not best.finished:
                note(f"the prediction was {CUT_OFF}: the row ⊣ is where, not an end of its own")
        texts.append(text)
        alignments.append(predictor.align(source, text))
    if output is not None:
        first, *others = alignments
        first.plot(output, beside=others[0] if others else None)
        return
    for text, alignment in zip(texts, alignments, strict=True):
        print(f"{source} → {text}  ({alignment.title})")
        print(alignment)
