"""A model as two ONNX files: the encoder, run once per word, and one step of the decoder.

A system records both by running once on symbolic arrays, so no example fixes any size, and torch is
not needed. All graphs are used in the same way: every output of the encoder is an input of the
step, and output next_X of a step is input X of the next. No positions are pruned from the sums.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from onnx import ModelProto, TensorProto, helper

from hardalign import __version__
from hardalign.config import ModelConfig
from hardalign.data.vocabulary import BEGIN, END, LENGTH_LIMIT, PAD, RESERVED, UNKNOWN, Vocabulary
from hardalign.errors import HardalignError
from hardalign.files import sha256, whole_file, write_bytes
from hardalign.systems import SYSTEMS, find_system, model_class
from hardalign.systems.attention import Memory, State, WithoutInputFeeding
from hardalign.systems.model import Words
from hardalign.systems.ops import Array
from hardalign.systems.ops.onnx import OnnxOps, Recorded

if TYPE_CHECKING:
    from hardalign.model_folder import Description

OPSET, IR_VERSION = 17, 8
"""From 2022: old enough for the runtimes of phones and browsers."""
METADATA = "hardalign"
"""The metadata key under which both files hold the same JSON."""

INTEGERS, NUMBERS, TRUTHS = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL
Described = dict[str, tuple[int, tuple[str | int, ...], str]]
"""Type, shape and meaning of inputs or outputs, by name."""
STATE: Described = {
    "score_key": (NUMBERS, ("batch", "length", "hidden"), "T e_j"),
    "key": (NUMBERS, ("batch", "length", "joint"), "the encoder half of S(h ⊕ e)"),
    "mask": (TRUTHS, ("batch", "length"), "false at padding"),
    "copied": (INTEGERS, ("batch", "length"), "the column that each position may copy, or -1"),
    "jump": (NUMBERS, ("batch", "length", "jumps"), "K e_k + b"),
    "columns": (INTEGERS, ("batch", "whole"), "index among begin, letters and end; -1 for tags"),
    "tag_counts": (INTEGERS, ("batch",), "how many symbols are tags"),
    "extra": (NUMBERS, ("batch", "embedding"), "the sum of the embeddings of a word's tags"),
    "h": (NUMBERS, ("batch", "layers", "hidden"), "the decoder's state"),
    "c": (NUMBERS, ("batch", "layers", "hidden"), "the decoder's state"),
    "step": (INTEGERS, ("batch", 1, 1), "how many symbols were written"),
    "cells": (NUMBERS, ("batch", "symbols", "length"), "log p of each last symbol by its origin"),
}
"""What the encoder passes to the first step, if the system uses it."""
CHANGING = ("h", "c", "step", "cells")
"""What a step passes to the next."""
HIDDEN = ("h", "c", "extra")
"""The parts of the decoder's state; extra is the input for tags beside the word."""
OPTIONAL = ("copied", "jump", "columns")
"""Fields of ``Memory`` that not all models have."""


def step_file(path: Path) -> Path:
    """Return the path of the step graph: x.step.onnx for x.onnx."""
    return path.with_suffix(".step.onnx")


def export_onnx(tensors: Mapping[str, Array], description: Description, path: Path) -> None:
    """Write the encoder to ``path`` (x.onnx), one step of the decoder (x.step.onnx) and x.json.

    The JSON, which both graphs also hold as metadata, describes how text is split into symbols
    (format), the number of each source symbol (letters, tags, begin, end, unknown, padding), the
    target symbol of each number (target), and a checksum that tells which files belong together.
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
        raise HardalignError(f"{path}: the file name should end in .onnx")
    others = step_file(path), path.with_suffix(".json")
    for target in (path, *others):
        if target.is_dir():
            raise HardalignError(f"{target}: is a folder; choose another name")
    models = record(description.model, description.vocabulary, tensors)
    metadata = _metadata(description, models)
    for model in models:
        helper.set_model_props(model, {METADATA: metadata})
    encoder, step = (model.SerializeToString(deterministic=True) for model in models)
    # The encoder is moved into place last, so that it exists only if the others do.
    with whole_file(path) as file:
        file.write(encoder)
        write_bytes(others[0], step)
        write_bytes(others[1], metadata.encode())


def record(
    config: ModelConfig, vocabulary: Vocabulary, tensors: Mapping[str, Array]
) -> tuple[ModelProto, ModelProto]:
    """Record the graphs of a system without input feeding: the encoder and one step."""
    xp, system = _system(config, vocabulary, tensors)
    inputs: Described = {
        "source": (INTEGERS, ("batch", "whole"), "begin, tags, letters, end, padding"),
        "lengths": (INTEGERS, ("batch",), "symbols of each word, begin and end included"),
        "tags": (INTEGERS, ("batch",), "how many of them are tags"),
    }
    memory = system.read(Words(*(Recorded(xp.graph, name) for name in inputs)))
    first = system.start(memory)
    state = {name: getattr(memory, name) for name in ("score_key", "key", "mask", *OPTIONAL)}
    state["tag_counts"] = memory.words.tag_counts
    zero = xp.graph("Cast", xp.zeros(None, memory.mask.shape[0], 1, 1), to=INTEGERS)
    state |= dict(zip(HIDDEN, first.hidden, strict=True)) | {"step": zero, "cells": first.cells}
    outputs = {name: state[name] for name in STATE if state[name] is not None}
    encoder = _model(xp, inputs, outputs, STATE)

    xp, system = _system(config, vocabulary, tensors)
    given = {name: Recorded(xp.graph, name) for name in outputs}
    words = Words(given["mask"], given["mask"], given["tag_counts"])
    optional = {name: given.get(name) for name in OPTIONAL}
    memory = Memory(
        system.cut(), words, given["mask"], given["score_key"], given["key"], **optional
    )
    hidden = tuple(given.get(name) for name in HIDDEN)
    before = State(memory, None, hidden, given["step"], given.get("cells"))
    step = system.step(before, None, Recorded(xp.graph, "previous"))
    h, c, _ = step.state.hidden
    changed = {"h": h, "c": c, "step": step.state.step, "cells": step.state.cells}
    arrays = {"log_probs": step.log_probs, "alpha": step.alpha}
    arrays |= {f"next_{name}": changed[name] for name in CHANGING if name in outputs}
    columns = "of the next symbol: column 0 is the end, column k the letter numbered end + k"
    shapes: Described = {
        "log_probs": (NUMBERS, ("batch", "symbols"), columns),
        "alpha": (NUMBERS, ("batch", "whole"), "weights of the source symbols"),
        **{f"next_{name}": STATE[name] for name in CHANGING},
    }
    previous = (INTEGERS, ("batch",), "the symbol chosen last; at first, begin")
    inputs = {"previous": previous, **{name: STATE[name] for name in outputs}}
    return encoder, _model(xp, inputs, arrays, shapes)


def _system(
    config: ModelConfig, vocabulary: Vocabulary, tensors: Mapping[str, Array]
) -> tuple[OnnxOps, WithoutInputFeeding]:
    xp = OnnxOps(config)
    system = model_class(config)(xp, config, vocabulary, tensors)
    assert isinstance(system, WithoutInputFeeding)
    return xp, system


def _model(
    xp: OnnxOps, inputs: Described, outputs: Mapping[str, Recorded], shapes: Described
) -> ModelProto:
    """Return the recorded graph with its inputs and outputs declared."""
    for name, array in outputs.items():
        xp.graph.nodes.append(helper.make_node("Identity", [array.name], [name]))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        xp.graph.nodes,
        "hardalign",
        [info(name, *described) for name, described in inputs.items()],
        [info(name, *shapes[name]) for name in outputs],
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
    """Return what a program needs besides the graphs, as JSON."""
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
