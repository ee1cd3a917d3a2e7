"""Exported tiny models and the runtime that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.formats import FORMATS
from hardalign.data.vocabulary import Vocabulary
from hardalign.export import export_onnx, step_file
from hardalign.networks.transducer import Transducer
from hardalign.training.storage import Description

Arrays = dict[str, np.ndarray[Any, Any]]


class Pair:
    """Both graphs, run by onnxruntime."""

    def __init__(self, path: Path) -> None:
        self.encoder = onnxruntime.InferenceSession(path)
        self.step = onnxruntime.InferenceSession(step_file(path))

    def read(self, source: Sequence[Sequence[int]] | Any, lengths: Any) -> Arrays:
        return run(self.encoder, {"source": np.asarray(source), "lengths": np.asarray(lengths)})


def run(session: Any, inputs: Arrays) -> Arrays:
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def described(system: str, vocabulary: Vocabulary) -> Description:
    return Description(ModelConfig(system), TrainingConfig(), FORMATS["sigmorphon"], vocabulary, {})


def exported(model: Transducer, description: Description, folder: Path) -> Pair:
    export_onnx(model, description, folder / "m.onnx")
    return Pair(folder / "m.onnx")
