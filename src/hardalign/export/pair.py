"""Writes a model as a pair of ONNX files, which are all that predicting needs besides a runtime."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from onnx import GraphProto
from onnx.helper import make_model, make_opsetid, set_model_props

from hardalign.data.vocabulary import BEGIN, END, PAD, RESERVED, UNKNOWN
from hardalign.errors import HardalignError
from hardalign.export.graphs import encoder_graph, step_graph
from hardalign.export.layers import Network
from hardalign.export.nodes import Array
from hardalign.files import sha256, whole_file, write_bytes
from hardalign.options import copied_symbols, tags_beside
from hardalign.search import LENGTH_LIMIT
from hardalign.systems import SYSTEMS, find_system
from hardalign.version import __version__

if TYPE_CHECKING:
    from hardalign.model_folder import Description

OPSET, IR_VERSION = 17, 8
"""Of ONNX, those of 2022: old enough for the runtimes of phones and browsers."""
METADATA = "hardalign"
"""The name under which both files hold the same JSON."""


def step_file(path: Path) -> Path:
    """Returns the file of the step whose encoder is ``path``: beside it, x.step.onnx for x.onnx."""
    return path.with_suffix(".step.onnx")


def export_onnx(tensors: Mapping[str, Array], description: Description, path: Path) -> None:
    """Writes the encoder to ``path`` and one step of the decoder beside it.

    Both files hold the same JSON as metadata, under the name hardalign: how text is cut into
    symbols (format), the number of each source symbol (letters, tags, begin, end, unknown,
    padding), the target symbol of each number (target), and a checksum by which files that belong
    together can be recognised.

    Args:
        tensors: The model's weights, by their names in the model folder.
        description: All else that the model folder says of it.
        path: A name that ends in .onnx; for x.onnx the step is x.step.onnx.

    Raises:
        HardalignError: If the system cannot be exported, or a file cannot be written.
    """
    name = description.model.system
    if not find_system(name).exportable:
        able = ", ".join(known for known, system in SYSTEMS.items() if system.exportable)
        raise HardalignError(f"{name} cannot be exported to ONNX; the systems that can are {able}")
    if description.known_forms is not None:
        raise HardalignError(
            "a model that reads known forms cannot be exported: ONNX has no place for them"
        )
    if path.suffix != ".onnx" or path.name == ".onnx":
        raise HardalignError(f"{path}: the file should have a name that ends in .onnx")
    for file in (path, step_file(path)):
        if file.is_dir():
            raise HardalignError(f"{file}: is a folder; choose another name")
    options = (description.model, description.vocabulary)
    network = Network(description.model, tensors, copied_symbols(*options), tags_beside(*options))
    graphs = [encoder_graph(network), step_graph(network)]
    metadata = _metadata(description, graphs)
    # The encoder is there only if the step is: it takes its place last.
    with whole_file(path) as encoder:
        encoder.write(_serialized(graphs[0], metadata))
        write_bytes(step_file(path), _serialized(graphs[1], metadata))


def _metadata(description: Description, graphs: list[GraphProto]) -> str:
    """Returns the JSON that both files hold."""
    weights = b"".join(graph.SerializeToString(deterministic=True) for graph in graphs)
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


def _serialized(graph: GraphProto, metadata: str) -> bytes:
    """Returns the file of one graph."""
    model = make_model(
        graph,
        ir_version=IR_VERSION,
        opset_imports=[make_opsetid("", OPSET)],
        producer_name="hardalign",
        producer_version=__version__,
    )
    set_model_props(model, {METADATA: metadata})
    return bytes(model.SerializeToString(deterministic=True))
