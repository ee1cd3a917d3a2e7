"""``hardalign export``: a model for other runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from hardalign.cli.console import note
from hardalign.cli.options import Model
from hardalign.errors import MissingPackageError


def export(
    model: Model, file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.onnx")]
) -> None:
    """Write a model as ONNX, to predict on a phone, in a browser, from C++.

    $ hardalign export runs/g2p g2p.onnx

    There are two graphs, each in a file of its own, so that any ONNX runtime can run them.
    FILE.onnx is the encoder: it reads source, lengths and tags (how many symbols are tags).
    FILE.step.onnx is one step: from all that the encoder wrote and the symbol chosen last
    (previous) it makes log_probs and alpha of the next symbol, and next_h for the h of the next
    step, next_c for its c and so on. Sizes of batches and lengths are free. The symbols' numbers
    and the format are in the metadata of both files, as JSON under the name hardalign.
    docs/examples/onnx_greedy.py in the repository predicts with them in 37 lines.

    Args:
        model: Folder of a trained model, or the name of a bundled one, of a system whose decoder is
            not fed: hard, soft, hard-sampled, hard-prior, hard-hmm or hard-monotonic.
        file: Where to write the encoder; the step is written beside it. Needs the
            extra onnx.
    """
    try:
        from hardalign.systems.export import export_onnx, step_file
    except ModuleNotFoundError as error:
        raise MissingPackageError("the export", error.name, "onnx") from None
    from hardalign.model_folder import find_model, load_folder

    tensors, description = load_folder(find_model(model))
    export_onnx(tensors, description, file)
    note(f"the encoder is {file}, the step {step_file(file)}")
    if description.model.copying:
        note("letters that were never seen are unknown there; hardalign itself can copy them")
