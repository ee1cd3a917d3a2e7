from __future__ import annotations

import numpy as np
import onnxruntime
from onnx.helper import make_model, make_opsetid

from hardalign.export.nodes import NUMBERS, Nodes, integers, value


def test_a_graph_computes_what_was_written() -> None:
    nodes = Nodes()
    shifted = nodes("Add", "x", np.array([0.5]))
    first, rest = nodes.several(
        "Split", [nodes("Tanh", shifted), integers(1, 2)], ["a", "b"], axis=1
    )
    nodes("Mul", first, rest, name="y")
    graph = nodes.finish(
        "test",
        [value("x", NUMBERS, ("rows", 3), "numbers")],
        [value("y", NUMBERS, ("rows", 2), "products")],
    )
    model = make_model(graph, ir_version=8, opset_imports=[make_opsetid("", 17)])
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for rows in (1, 4):
        x = np.random.default_rng(rows).random((rows, 3), dtype=np.float32)
        (y,) = session.run(None, {"x": x})
        bent = np.tanh(x + 0.5)
        assert np.allclose(y, bent[:, :1] * bent[:, 1:], atol=1e-6)
    assert graph.input[0].doc_string == "numbers"
