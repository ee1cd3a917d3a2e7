"""A model as two ONNX files: the encoder, run once for each word, and one step of the decoder.

A system records both by running once on arrays that are not there yet, so that no size is fixed by
an example and no torch is needed. The graphs of all systems are used in the same way: every output
of the encoder is an input of the step, and an output next_X of a step is the input X of the next
step. All positions are summed over, with none left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from onnx import ModelProto, TensorProto, helper

from hardalign import __version__
from hardalign.config import ModelConfig
from hardalign.data.vocabulary import BEGIN, END, PAD, RESERVED, UNKNOWN, Vocabulary
from hardalign.errors import HardalignError
from hardalign.files import sha256, whole_file, write_bytes
from hardalign.systems.batch import Words
from hardalign.systems.model import LENGTH_LIMIT
from hardalign.systems.ops import Array
from hardalign.systems.ops.onnx import OnnxOps, Recorded
from hardalign.systems.options import check_options
from hardalign.systems.table import SYSTEMS, find_system
from hardalign.systems.unfed import Memory, State, Unfed

if TYPE_CHECKING:
    from hardalign.model_folder import Description

OPSET, IR_VERSION = 17, 8
"""Of ONNX, those of 2022: old enough for the runtimes of phones and browsers."""
METADATA = "hardalign"
"""The name under which both files hold the same JSON."""

INTEGERS, NUMBERS, TRUTHS = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL
STATE: dict[str, tuple[int, tuple[str | int, ...], str]] = {
    "look": (NUMBERS, ("batch", "length", "hidden"), "T e_j"),
    "key": (NUMBERS, ("batch", "length", "joint"), "the encoder half of S(h ⊕ e)"),
    "mask": (TRUTHS, ("batch", "length"), "false at padding"),
    "copied": (INTEGERS, ("batch", "length"), "the column that each position may copy, or -1"),
    "jump": (NUMBERS, ("batch", "length", "jumps"), "K e_k + b"),
    "tag_counts": (INTEGERS, ("batch",), "how many symbols are tags"),
    "columns": (INTEGERS, ("batch", "whole"), "where symbols are among begin, letters, end"),
    "extra": (NUMBERS, ("batch", "embedding"), "the sum of the embeddings of a word's tags"),
    "h": (NUMBERS, ("batch", "layers", "hidden"), "the decoder's memory"),
    "c": (NUMBERS, ("batch", "layers", "hidden"), "the decoder's memory"),
    "step": (INTEGERS, ("batch", 1, 1), "how many symbols were written"),
    "cells": (
        NUMBERS,
        ("batch", "symbols", "length"),
        "log-probability of each last symbol together with where it came from",
    ),
}
"""What the encoder hands to the first step, as far as a system uses it: type, shape, meaning."""
CHANGING = ("h", "c", "step", "cells")
"""What a step hands to the next one."""


def step_file(path: Path) -> Path:
    """Returns the file of the step whose encoder is ``path``: beside it, x.step.onnx for x.onnx."""
    return path.with_suffix(".step.onnx")


def export_onnx(tensors: Mapping[str, Array], description: Description, path: Path) -> None:
    """Writes the encoder to ``path``, and one step of the decoder and a JSON file beside it.

    The JSON file, which both graphs also hold as metadata under the name hardalign, says how text
    is cut into symbols (format), the number of each source symbol (letters, tags, begin, end,
    unknown, padding), the target symbol of each number (target), and a checksum by which files that
    belong together can be recognised.

    Args:
        tensors: The model's weights, by their names in the model folder.
        description: All else that the model folder says of it.
        path: A name that ends in .onnx; for x.onnx the others are x.step.onnx and x.json.

    Raises:
        HardalignError: If the system cannot be exported, or a file cannot be written.
    """
    name = description.model.system
    if not find_system(name).model.can_export:
        able = ", ".join(known for known, system in SYSTEMS.items() if system.model.can_export)
        raise HardalignError(f"{name} cannot be exported to ONNX; the systems that can are {able}")
    if description.known_forms is not None:
        raise HardalignError(
            "a model that reads known forms cannot be exported: ONNX has no place for them"
        )
    if path.suffix != ".onnx" or path.name == ".onnx":
        raise HardalignError(f"{path}: the file should have a name that ends in .onnx")
    others = step_file(path), path.with_suffix(".json")
    for target in (path, *others):
        if target.is_dir():
            raise HardalignError(f"{target}: is a folder; choose another name")
    models = record(description.model, description.vocabulary, tensors)
    metadata = _metadata(description, models)
    for model in models:
        helper.set_model_props(model, {METADATA: metadata})
    encoder, step = (model.SerializeToString(deterministic=True) for model in models)
    # The encoder is there only if the others are: it takes its place last.
    with whole_file(path) as file:
        file.write(encoder)
        write_bytes(others[0], step)
        write_bytes(others[1], metadata.encode())


def record(
    config: ModelConfig, vocabulary: Vocabulary, tensors: Mapping[str, Array]
) -> tuple[ModelProto, ModelProto]:
    """Returns the graphs of a system without input feeding: the encoder and one step."""
    xp, system = _system(config, vocabulary, tensors)
    described = {
        "source": (INTEGERS, ("batch", "whole"), "begin, tags, letters, end, padding"),
        "lengths": (INTEGERS, ("batch",), "symbols of each word, begin and end included"),
        "tags": (INTEGERS, ("batch",), "how many of them are tags"),
    }
    memory = system.read(Words(*(Recorded(xp.graph, name) for name in described)))
    rows = memory.mask.shape[0]
    h, c, _ = system.decoder.begin(rows)
    cells = xp.begin_cells(memory.look, system.symbols) if memory.jump is not None else None
    step = xp.graph("Cast", xp.zeros(None, rows, 1, 1), to=INTEGERS)
    state = {"look": memory.look, "key": memory.key, "mask": memory.mask, "copied": memory.copied}
    state |= {"jump": memory.jump, "columns": memory.columns, "extra": memory.tags}
    state |= {"tag_counts": memory.words.tag_counts, "h": h, "c": c, "step": step, "cells": cells}
    outputs = {name: array for name, array in state.items() if array is not None}
    encoder = _model(xp, described, outputs, {name: STATE[name] for name in outputs})

    xp, system = _system(config, vocabulary, tensors)
    given = {name: Recorded(xp.graph, name) for name in outputs}
    words = Words(given["mask"], given["mask"], given["tag_counts"])
    fields = {name: given.get(name) for name in ("copied", "jump", "columns")}
    memory = Memory(
        system.cut(),
        words,
        given["mask"],
        given["look"],
        given["key"],
        tag_counts=given["tag_counts"],
        **fields,
    )
    hidden = given["h"], given["c"], given.get("extra")
    before = State(memory, None, hidden, given["step"], given.get("cells"))
    taken = system.step(before, None, Recorded(xp.graph, "previous"))
    h, c, _ = taken.state.hidden
    changed = {"h": h, "c": c, "step": taken.state.step, "cells": taken.state.cells}
    following = {f"next_{name}": changed[name] for name in CHANGING if name in outputs}
    columns = "of the next symbol: column 0 is the end, column k the letter numbered end + k"
    shapes = {
        "log_probs": (NUMBERS, ("batch", "symbols"), columns),
        "alpha": (NUMBERS, ("batch", "whole"), "weights of the source symbols"),
        **{name: STATE[name.removeprefix("next_")] for name in following},
    }
    previous = (INTEGERS, ("batch",), "the symbol chosen last; at first, begin")
    inputs = {"previous": previous, **{name: STATE[name] for name in outputs}}
    arrays = {"log_probs": taken.log_probs, "alpha": taken.alpha, **following}
    return encoder, _model(xp, inputs, arrays, shapes)


def _system(
    config: ModelConfig, vocabulary: Vocabulary, tensors: Mapping[str, Array]
) -> tuple[OnnxOps, Unfed]:
    xp = OnnxOps(config)
    system = check_options(config)(xp, config, vocabulary, tensors)
    assert isinstance(system, Unfed)
    return xp, system


def _model(
    xp: OnnxOps,
    inputs: Mapping[str, tuple[int, tuple[str | int, ...], str]],
    outputs: Mapping[str, Recorded],
    shapes: Mapping[str, tuple[int, tuple[str | int, ...], str]],
) -> ModelProto:
    """Returns the graph that was recorded, its inputs and outputs described."""
    for name, array in outputs.items():
        xp.graph.nodes.append(helper.make_node("Identity", [array.name], [name]))
    graph = helper.make_graph(
        xp.graph.nodes,
        "hardalign",
        [helper.make_tensor_value_info(name, *described) for name, described in inputs.items()],
        [helper.make_tensor_value_info(name, *shapes[name]) for name in outputs],
        xp.graph.constants,
    )
    return helper.make_model(
        graph,
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="hardalign",
        producer_version=__version__,
    )


def _metadata(description: Description, models: tuple[ModelProto, ...]) -> str:
    """Returns what a program needs to know besides the graphs, as JSON."""
    weights = b"".join(model.graph.SerializeToString(deterministic=True) for model in models)
    source, target = description.vocabulary.source, description.vocabulary.target
    metadata = {
        "hardalign": __version__,
        "system": description.model.system,
        "format": description.format.to_dict(),
        "padding": PAD,
        "begin": BEGIN,
        "unknown": UNKNOWN,
        "end": END,
        "letters": source.letter_numbers,
        "tags": source.tag_numbers,
        "target": [None] * RESERVED + list(target.letters),
        "length_limit": LENGTH_LIMIT,
        "sha256": sha256(weights),
    }
    return json.dumps(metadata, ensure_ascii=False)
