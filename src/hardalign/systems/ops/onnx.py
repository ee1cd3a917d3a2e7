"""The operations as ONNX nodes: running a system on symbolic arrays records its graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from hardalign.config import ModelConfig
from hardalign.systems.ops import Array, Encoder, Hidden, Ops

SMALL = 16
"""Constants of up to this many numbers are not worth a node of their own."""


class Graph:
    """Collects nodes and constants."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def __call__(self, operator: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node and return its outputs. Inputs are recorded arrays, constants, or ""."""
        names = [f"{operator}_{len(self.nodes)}_{k}" for k in range(outputs)]
        node = helper.make_node(operator, [self._name(x) for x in inputs], names, **attributes)
        self.nodes.append(node)
        recorded = [Recorded(self, name) for name in names]
        return recorded if outputs > 1 else recorded[0]

    def _name(self, x: Any) -> str:
        if isinstance(x, Recorded):
            return x.name
        if isinstance(x, str):
            return x
        x = np.asarray(x)
        if x.dtype.kind in "fi":  # single precision, and the integer type of indices
            x = x.astype(np.float32 if x.dtype.kind == "f" else np.int64)
        if x.dtype == np.float32 and x.size > SMALL:
            with np.errstate(over="ignore"):
                half = x.astype(np.float16)
            if np.array_equal(half, x):  # lossless, as in bundled models
                return str(self("Cast", self._constant(half), to=TensorProto.FLOAT).name)
        return self._constant(x)

    def _constant(self, x: Array) -> str:
        self.constants.append(numpy_helper.from_array(x, f"constant_{len(self.constants)}"))
        return self.constants[-1].name


class Recorded:
    """A symbolic array, with values only when the graph runs."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    @property
    def shape(self) -> Shape:
        return Shape(self)

    def __invert__(self) -> Any:
        return self.graph("Not", self)

    def __neg__(self) -> Any:
        return self.graph("Neg", self)

    def max(self) -> Any:
        return self.graph("ReduceMax", self, keepdims=0)

    def sum(self, axis: int) -> Any:
        return self.graph("ReduceSum", self, np.array([axis]), keepdims=0)

    def swapaxes(self, first: int, second: int) -> Any:
        assert (first, second) == (1, 2)
        return self.graph("Transpose", self, perm=[0, 2, 1])

    def clip(self, low: int, high: int = 2**62) -> Any:
        return self.graph("Clip", self, np.int64(low), np.int64(high))

    def __getitem__(self, index: Any) -> Any:
        """Add axes (None) or take one element of an axis (an int)."""
        index = index if isinstance(index, tuple) else (index,)
        for axis, part in enumerate(index):
            if isinstance(part, int):
                return self.graph("Gather", self, np.int64(part), axis=axis)
        new = [axis for axis, part in enumerate(index) if part is None]
        return self.graph("Unsqueeze", self, np.array(new, np.int64))


def _operator(name: str, swapped: bool = False) -> Any:
    """Return a method that records a binary operator."""

    def method(self: Recorded, x: Any) -> Any:
        return self.graph(name, *((x, self) if swapped else (self, x)))

    return method


OPERATORS = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "matmul": "MatMul",
    "lt": "Less",
    "gt": "Greater",
    "ge": "GreaterOrEqual",
    "eq": "Equal",
    "and": "And",
    "or": "Or",
}
for _method, _name in OPERATORS.items():
    setattr(Recorded, f"__{_method}__", _operator(_name))
for _method in ("add", "sub", "mul"):
    setattr(Recorded, f"__r{_method}__", _operator(OPERATORS[_method], swapped=True))


class Shape:
    """The sizes of a recorded array."""

    def __init__(self, x: Recorded) -> None:
        self.x = x

    def __getitem__(self, axis: int) -> Any:
        return self.x.graph("Gather", self.x.graph("Shape", self.x), np.int64(axis))


def _node(name: str = "", **attributes: Any) -> Any:
    """Return an operation that records one node; without a name, one that is not supported."""

    def operation(xp: OnnxOps, *inputs: Any) -> Any:
        if not name:
            raise NotImplementedError
        return xp.graph(name, *inputs, **attributes)

    return operation


class OnnxOps(Ops):
    """The engine that records one graph, for systems without input feeding."""

    never = -1e30
    """Finite, so that no runtime returns nan for a log-sum-exp of only log 0."""

    exp, tanh, where = _node("Exp"), _node("Tanh"), _node("Where")
    embed, log_softmax = _node("Gather"), _node("LogSoftmax", axis=-1)
    stack = repeat = array = numpy = log_joint = forward = _node()

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self.graph = Graph()

    def arange(self, stop: Any, like: Array) -> Array:
        if isinstance(stop, int):
            return np.arange(stop)
        return self.graph("Range", np.int64(0), stop, np.int64(1))

    def concatenate(self, parts: Sequence[Array], axis: int) -> Array:
        return self.graph("Concat", *parts, axis=axis)

    def zeros(self, like: Array, *shape: Any) -> Array:
        sizes = [
            self.graph("Unsqueeze", size, np.array([0])) if isinstance(size, Recorded) else [size]
            for size in shape
        ]
        return self.graph("ConstantOfShape", self.concatenate(sizes, 0))

    def logsumexp(self, x: Array, axis: int = -1) -> Array:
        return self.graph("ReduceLogSumExp", x, axes=[axis], keepdims=0)

    def logaddexp(self, x: Array, y: Any) -> Array:
        larger, smaller = self.graph("Max", x, y), self.graph("Min", x, y)
        return larger + self.graph("Log", self.exp(smaller - larger) + 1.0)

    def take(self, x: Array, index: Array, axis: int) -> Array:
        shape, own = self.graph("Shape", x), self.graph("Shape", index)
        sizes = [self.graph("Slice", shape, [0], [axis])] if axis else []
        sizes += [self.graph("Slice", own, [axis], [axis + 1])]
        sizes += [self.graph("Slice", shape, [axis + 1], [99])]
        index = self.graph("Expand", index, self.concatenate(sizes, 0))
        return self.graph("GatherElements", x, index, axis=axis)

    def rows(self, x: Array, index: Array | None) -> Array:
        assert index is None  # every row of a graph is a hypothesis
        return x

    def lookup(self, table: Array, symbols: Array, first: int) -> Array:
        # Out-of-vocabulary letters have no number here.
        return self.graph("Gather", table, symbols)

    def encoder(self, p: Mapping[str, Array]) -> Encoder:
        return partial(encode, self, p)

    def decoder(self, p: Mapping[str, Array]) -> Any:  # it only steps
        return Decoder(self, p)


def encode(xp: OnnxOps, p: Mapping[str, Array], symbols: Array, lengths: Array) -> Array:
    """Record the encoder: in ONNX, an LSTM is a single node that handles padding."""
    graph, size = xp.graph, xp.config.encoder
    lengths = graph("Cast", lengths, to=TensorProto.INT32)
    states = graph("Gather", p["encoder.embedding.weight"], symbols)
    states = graph("Transpose", states, perm=[1, 0, 2])  # [J, B, ·]
    both = {"direction": "bidirectional", "hidden_size": size}
    for layer in range(xp.config.encoder_layers):
        names = [f"encoder.{way}.{layer}.{{}}_l0" for way in ("forwards", "backwards")]
        inputs = (states, *_weights(p, names), lengths)
        states, _, _ = graph("LSTM", *inputs, outputs=3, **both)  # [J, 2, B, H]
        states = graph("Transpose", states, perm=[0, 2, 1, 3])
        states = graph("Reshape", states, np.array([0, 0, -1]))  # [J, B, 2H]
    return graph("Transpose", states, perm=[1, 0, 2])


class Decoder:
    """An LSTM whose state is h and c [N, layers, H], and the extra vector if there is one."""

    def __init__(self, xp: OnnxOps, p: Mapping[str, Array]) -> None:
        self._xp, self._p = xp, p

    def begin(self, rows: Any, extra: Array | None = None) -> Hidden:
        sizes = (rows, self._xp.config.decoder_layers, self._xp.config.decoder)
        return self._xp.zeros(None, *sizes), self._xp.zeros(None, *sizes), extra

    def step(self, hidden: Hidden, rows: None, symbols: Array) -> tuple[Array, Hidden]:
        graph, config = self._xp.graph, self._xp.config
        h, c, extra = hidden
        inputs = graph("Gather", self._p["decoder.embedding.weight"], symbols)
        if extra is not None:
            inputs = graph("Concat", inputs, extra, axis=1)
        states = graph("Unsqueeze", inputs, np.array([0]))  # [1, N, ·]
        after = []
        for layer in range(config.decoder_layers):
            before = [graph("Unsqueeze", part[:, layer], np.array([0])) for part in (h, c)]
            weights = _weights(self._p, [f"decoder.lstm.{{}}_l{layer}"])
            inputs = (states, *weights, "", *before)
            states, *own = graph("LSTM", *inputs, outputs=3, hidden_size=config.decoder)
            states = graph("Squeeze", states, np.array([1]))  # [1, N, H]
            after.append(own)  # [1, N, H] each
        h, c = (
            graph("Transpose", graph("Concat", *parts, axis=0), perm=[1, 0, 2])
            for parts in zip(*after, strict=True)
        )
        return graph("Transpose", states, perm=[1, 0, 2]), (h, c, extra)


def _weights(p: Mapping[str, Array], names: Sequence[str]) -> list[Array]:
    """Return W, R and B in ONNX's layout, for one direction or two."""

    def stacked(*kinds: str) -> Array:
        return np.stack(
            [np.concatenate([_gates(p[name.format(kind)]) for kind in kinds]) for name in names]
        )

    return [stacked("weight_ih"), stacked("weight_hh"), stacked("bias_ih", "bias_hh")]


def _gates(tensor: Array) -> Array:
    """Reorder gates from PyTorch's input, forget, cell, output to ONNX's i, o, f, c."""
    i, f, c, o = np.split(tensor, 4)
    return np.concatenate([i, o, f, c])
