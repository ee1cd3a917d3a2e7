"""Tiny models as graphs, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from conftest import TINY
from hardalign.config import TrainingConfig
from hardalign.data.encoding import Encoded
from hardalign.data.formats import FORMATS
from hardalign.data.vocabulary import BEGIN, END, Vocabulary
from hardalign.export import export_onnx, step_file
from hardalign.export.layers import Network
from hardalign.folder import Description, Origin
from hardalign.options import copied_symbols, tags_beside
from models import spelled_alike, tiny_config
from tiny import tiny_model

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


def describe(
    system: str, vocabulary: Vocabulary = TINY, encoder_layers: int = 1, decoder_layers: int = 1
) -> Description:
    """Describes the model whose weights are ``random_tensors``."""
    config = replace(
        tiny_config(system), encoder_layers=encoder_layers, decoder_layers=decoder_layers
    )
    vocabulary = spelled_alike(vocabulary) if config.copying else vocabulary
    return Description(config, TrainingConfig(), FORMATS["sigmorphon"], vocabulary, Origin())


def network(description: Description) -> Network:
    """Returns the weights and all else that graphs are made of."""
    options = (description.model, description.vocabulary)
    tensors = random_tensors(description)
    return Network(description.model, tensors, copied_symbols(*options), tags_beside(*options))


def random_tensors(description: Description, seed: int = 0, scale: float = 3.0) -> Arrays:
    """Returns the weights of a random tiny model, in double precision."""
    config = description.model
    model = tiny_model(
        " ".join([config.system, config.tags, *["copying"] * config.copying]),
        description.vocabulary,
        seed=seed,
        scale=scale,
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
    )
    tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    for name in ("bias", "jump.bias"):  # a position prior is 0 at first
        if (bias := tensors.get(f"head.attention.{name}")) is not None:
            bias[:] = np.random.default_rng(seed).normal(size=len(bias))
    return tensors


def export_random(system: str, path: Path, seed: int = 0) -> None:
    description = describe(system)
    export_onnx(random_tensors(description, seed), description, path)
