"""An ONNX graph that is written node by node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto
from onnx.helper import make_graph, make_node, make_tensor_value_info
from onnx.numpy_helper import from_array
from torch import Tensor

INTEGERS, NUMBERS, TRUTHS = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL
"""Types of what goes in and comes out."""


class Nodes:
    """The nodes and constants written so far.

    >>> nodes = Nodes()
    >>> nodes("Tanh", nodes("Add", "x", torch.ones(1)), name="y")
    'y'
    """

    def __init__(self) -> None:
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []

    def __call__(
        self, operator: str, *inputs: str | Tensor, name: str | None = None, **attributes: Any
    ) -> str:
        """Write a node, and give the name of its output.

        Args:
            operator: What it does.
            inputs: Names of other outputs, or constants, which are kept in single precision; '' is
                one that is not given.
            name: Of its output, if that matters.
            attributes: Of the operator.
        """
        names = [name or f"{operator}_{len(self._nodes)}"]
        return self.several(operator, inputs, names, **attributes)[0]

    def several(
        self, operator: str, inputs: Iterable[str | Tensor], names: list[str], **attributes: Any
    ) -> list[str]:
        """Write a node whose outputs have these names."""
        given = [one if isinstance(one, str) else self._constant(one) for one in inputs]
        self._nodes.append(make_node(operator, given, names, **attributes))
        return names

    def finish(
        self, name: str, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]
    ) -> GraphProto:
        """The graph of all that was written."""
        return make_graph(self._nodes, name, inputs, outputs, self._constants)

    def _constant(self, tensor: Tensor) -> str:
        name = f"constant_{len(self._constants)}"
        tensor = tensor.detach().cpu()
        single = tensor.float() if tensor.is_floating_point() else tensor
        self._constants.append(from_array(single.numpy(), name))
        return name


def integers(*values: int) -> Tensor:
    """Axes or sizes, which are inputs of some operators."""
    return torch.tensor(values)


def value(name: str, kind: int, shape: Sequence[str | int], meaning: str) -> ValueInfoProto:
    """Describe what goes into a graph or comes out of it; sizes with a name are free."""
    return make_tensor_value_info(name, kind, shape, meaning)
