"""``hardalign plot``: the alignment of a pair as a heat map, or the curves of a training run."""

from __future__ import annotations

from json import loads
from pathlib import Path
from typing import Annotated, Any

import tyro

from hardalign.cli.console import CUT_OFF, note, say
from hardalign.cli.options import Model, OptionalModel, OutputFile, Text, optional
from hardalign.errors import HardalignError


def plot(
    model: Model,
    source: Annotated[Text, tyro.conf.Positional, optional("SOURCE")] = None,
    target: Annotated[Text, tyro.conf.Positional, optional("TARGET")] = None,
    *,
    tags: Text = None,
    beside: OptionalModel = None,
    output: OutputFile = None,
) -> None:
    """Draw the alignment of a pair, or how a model was trained.

    $ hardalign plot runs/g2p action

    $ hardalign plot runs/g2p action "AE K SH AH N" --output action.svg

    $ hardalign plot runs/soft action --beside runs/hard --output action.pdf

    $ hardalign plot runs/g2p

    Rows are target symbols, columns source symbols, ⊢ and ⊣ are begin and end. What the weights
    are stands above: the posterior of the alignment, attention weights, or one path. Without a
    source, loss, accuracy and learning rate of a training run are drawn, epoch by epoch.

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        source: The source string.
        target: The target string; without it, the model's prediction.
        tags: The tags of the source, as the model's format writes them: V;PST
        beside: Another model, whose alignment is drawn on the right (in the terminal, below).
            Without a target, each model's own prediction is drawn.
        output: Write a picture, .svg, .png or .pdf, instead of drawing in the terminal; needs
            matplotlib, which the extra plot brings.
    """
    if source is None:
        if beside is not None or tags is not None:
            raise HardalignError("--beside and --tags need a source to draw")
        _plot_run(model, output)
        return
    from hardalign.predictor import load
    from hardalign.search import Search

    question = source if tags is None else f"{source}\t{tags}"
    texts, alignments = [], []
    for predictor in [load(folder) for folder in (model, beside) if folder]:
        text = target
        if text is None:  # not by a call, which would warn of the symbols that `align` warns of
            ((best,),) = predictor.answers([predictor.example(question)], Search())
            text = best.text
            if not best.finished:
                note(f"the prediction was {CUT_OFF}: the row ⊣ is where, not an end of its own")
        texts.append(text)
        alignments.append(predictor.align(question, text))
    if output is not None:
        first, *others = alignments
        first.plot(output, beside=others[0] if others else None)
        return
    for text, alignment in zip(texts, alignments, strict=True):
        say(f"{question} → {text}  ({alignment.title})")
        print(alignment)


def _plot_run(model: str, output: Path | None) -> None:
    """Draws the curves of a run: of a model folder, or of a run of ``reproduce``."""
    from hardalign.model_folder import METRICS, find_model
    from hardalign.plot import curve_text, save_curves

    folder = find_model(model)
    path = next((p for p in (folder / METRICS, folder / "model" / METRICS) if p.is_file()), None)
    if path is None:
        raise HardalignError(f"{model}: no {METRICS} here; name a source to draw an alignment")
    epochs: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            epochs.append(dict(loads(line)))
        except (ValueError, TypeError):
            raise HardalignError(f"{path}, line {number}: this is no JSON object") from None
    if output is None:
        print(curve_text(epochs))
    else:
        note(save_curves(output, epochs, model))
