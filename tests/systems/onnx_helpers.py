"""Tiny models as graphs, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from hardalign.data.vocabulary import BEGIN, END, Encoded
from hardalign.systems.export import export_onnx, step_file
from helpers import TINY, tiny_description, tiny_tensors

Array = NDArray[Any]
Arrays = dict[str, Array]

EXPORTABLE = ("hard", "soft", "hard-sampled", "hard-prior", "hard-hmm", "hard-monotonic")
VARIANTS = (
    *EXPORTABLE,
    "hard copying",
    "hard-hmm copying beside",
    "hard-prior beside",
    "soft beside",
)
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "onnx_greedy.py"


class Pair:
    """Both graphs, run by onnxruntime."""

    def __init__(self, path: Path) -> None:
        self.encoder = onnxruntime.InferenceSession(path)
        self.step = onnxruntime.InferenceSession(step_file(path))

    def read(self, words: Sequence[Encoded], padding: int = 0, seed: int = 0) -> Arrays:
        """Runs the encoder, with columns of padding more than is needed, all filled with noise."""
        lengths = np.array([len(word.source) for word in words])
        source = np.random.default_rng(seed).integers(
            0, len(TINY.source), (len(words), max(lengths) + padding)
        )
        for row, word in zip(source, words, strict=True):
            row[: len(word.source)] = word.source
        tags = np.array([word.tags for word in words])
        return run(self.encoder, {"source": source, "lengths": lengths, "tags": tags})

    def greedy(self, word: Encoded, limit: int) -> tuple[list[int], float]:
        """Returns the most probable symbol at every step, and the log-probability of them all."""
        state, chosen, log_prob = self.read([word]), [BEGIN], 0.0
        while chosen[-1] != END and len(chosen) <= limit:
            result = run(self.step, {"previous": np.array(chosen[-1:]), **state})
            chosen.append(END + int(result["log_probs"].argmax()))
            log_prob += float(result["log_probs"].max())
            state = following(state, result)
        return [symbol for symbol in chosen[1:] if symbol != END], log_prob


def run(session: Any, inputs: Mapping[str, Array]) -> Arrays:
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def following(state: Arrays, result: Arrays) -> Arrays:
    """Returns the state of the next step."""
    changed = {name.removeprefix("next_"): result[name] for name in result if "next_" in name}
    assert changed.keys() <= state.keys()
    return state | changed


def export_random(system: str, path: Path, seed: int = 0) -> None:
    export_onnx(tiny_tensors(system, seed=seed, scale=2.0), tiny_description(system), path)
