"""Random runtimes, small enough for enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np

from conftest import TINY
from hardalign.runtime import Runtime, build_runtime
from hardalign.runtime.numbers import log_softmax
from hardalign.shapes import parameter_shapes
from models import tiny_config


def tiny(system: str = "hard", seed: int = 0) -> Runtime[Any, Any]:
    """A random model, of weights large enough to make distributions far from uniform."""
    config = tiny_config(system)
    draw = np.random.default_rng(seed)
    shapes = parameter_shapes(config, TINY)
    tensors = {name: draw.normal(size=shape) for name, shape in shapes.items()}
    if system == "monotonic":
        tensors["oracle.table"] = log_softmax(tensors["oracle.table"])
    return build_runtime(config, tensors, TINY)
