"""Writes an ONNX graph node by node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto
from onnx.helper import make_graph, make_node, make_tensor_value_info
from onnx.numpy_helper import from_array

INTEGERS, NUMBERS, TRUTHS = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL
"""Types of a graph's inputs and outputs."""

Array = NDArray[Any]


class Nodes:
    """Collects the nodes and constants of a graph.

    >>> nodes = Nodes()
    >>> nodes("Tanh", nodes("Add", "x", np.ones(1)), name="y")
    'y'
    """

    def __init__(self) -> None:
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []

    def __call__(
        self, operator: str, *inputs: str | Array, name: str | None = None, **attributes: Any
    ) -> str:
        """Adds a node and returns the name of its output.

        Args:
            operator: Its type, such as "Add".
            inputs: Names of other outputs, or constants, which are kept in single precision; ''
                leaves an optional input out.
            name: The name of its output; by default, a new one.
            attributes: The operator's attributes.
        """
        names = [name or f"{operator}_{len(self._nodes)}"]
        return self.several(operator, inputs, names, **attributes)[0]

    def several(
        self, operator: str, inputs: Iterable[str | Array], names: list[str], **attributes: Any
    ) -> list[str]:
        """Adds a node whose outputs have these names, and returns the names."""
        sources = [item if isinstance(item, str) else self._constant(item) for item in inputs]
        self._nodes.append(make_node(operator, sources, names, **attributes))
        return names

    def finish(
        self, name: str, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]
    ) -> GraphProto:
        """Returns the graph of all nodes."""
        return make_graph(self._nodes, name, inputs, outputs, self._constants)

    def _constant(self, array: Array) -> str:
        name = f"constant_{len(self._constants)}"
        single = array.astype(np.float32) if array.dtype.kind == "f" else array
        self._constants.append(from_array(single, name))
        return name


def integers(*values: int) -> NDArray[np.int64]:
    """Returns axes or sizes as the operators take them: as an input."""
    return np.array(values, dtype=np.int64)


def integer(value: int) -> NDArray[np.int64]:
    """Returns a number without axes, to add, compare or gather with."""
    return np.array(value, dtype=np.int64)


def value(name: str, kind: int, shape: Sequence[str | int], meaning: str) -> ValueInfoProto:
    """Describes an input or output of a graph; sizes with a name are free."""
    return make_tensor_value_info(name, kind, shape, meaning)
