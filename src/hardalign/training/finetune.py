"""Fine-tuning: training from another model's weights, extended to new symbols."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hardalign.config import LEARNING_ONLY, ModelConfig
from hardalign.data.text import Symbols, shorten
from hardalign.data.vocabulary import RESERVED, Alphabet, Vocabulary
from hardalign.errors import HardalignError
from hardalign.files import sha256
from hardalign.model_folder import WEIGHTS, Tensors, find_model, load_folder
from hardalign.systems.parameters import ALIGNER_TABLE, parameter_shapes

SOURCES, TAGS = "encoder.embedding.weight", "tags.merge.weight"
"""Tensors with a row per source symbol, and with a column per tag."""


@dataclass(frozen=True)
class Start:
    """The model to fine-tune."""

    name: str
    """Its folder's name, with a checksum of its weights."""
    config: ModelConfig
    tensors: Tensors
    vocabulary: Vocabulary

    @classmethod
    def of(cls, model: str | Path, config: ModelConfig) -> Start:
        """Load a model, by folder or name, and check that it matches ``config``."""
        folder = find_model(model)
        tensors, description = load_folder(folder)
        for name, theirs in description.model.to_dict().items():
            ours = getattr(config, name)
            if theirs != ours and name not in LEARNING_ONLY:
                raise HardalignError(
                    f"{model}: cannot be fine-tuned: its {name.replace('_', ' ')} is "
                    f"{theirs}, not {ours}; train the same system and size"
                )
        checksum = sha256((folder / WEIGHTS).read_bytes())[:12]
        return cls(f"{folder.name} sha256:{checksum}", config, tensors, description.vocabulary)

    def unknown(self, vocabulary: Vocabulary) -> str:
        """Describe which symbols of another vocabulary are new to the model."""
        sides = (
            ("source", self.vocabulary.source, vocabulary.source.letters),
            ("target", self.vocabulary.target, vocabulary.target.letters),
        )
        return " and ".join(
            f"{len(new)} of the {len(letters)} {side} symbols, such as {shorten(new[0])}"
            for side, known, letters in sides
            if (new := known.unknown(letters))
        )

    def extended(self, vocabulary: Vocabulary) -> Vocabulary:
        """Return the model's vocabulary, followed by the new symbols of another.

        Raises a ``HardalignError`` if the weights cannot be extended to them.
        """
        ours, theirs = self.vocabulary, vocabulary
        source = Alphabet(
            _joined(ours.source.letters, theirs.source.letters),
            _joined(ours.source.tags, theirs.source.tags),
        )
        target = Alphabet(_joined(ours.target.letters, theirs.target.letters))
        joined = Vocabulary(source, target)
        shapes = parameter_shapes(self.config, joined)
        for name, tensor in self.tensors.items():
            if _fixed(name, shapes[name]) != _fixed(name, tensor.shape):
                new = [*target.letters[len(ours.target.letters) :]]
                new += source.tags[len(ours.source.tags) :]
                raise HardalignError(
                    f"the sizes of a {self.config.system} model depend on its number of symbols, "
                    f"and the data have new ones, first {new[0]!r}: leave these out, or train "
                    "from scratch"
                )
        return joined

    def weights(self, fresh: Tensors, vocabulary: Vocabulary) -> Tensors:
        """Return the model's weights, with fresh ones for the symbols that ``extended`` added."""
        weights = dict(fresh)
        old_source, new_source = self.vocabulary.source, vocabulary.source
        for name, old in self.tensors.items():
            if name == ALIGNER_TABLE:
                continue  # always fitted anew to the training data
            new = np.array(fresh[name])
            if name == SOURCES:  # new letters come before the tags
                numbers = np.arange(len(old_source))
                letters = len(old_source.letters)
                numbers[RESERVED + letters :] += len(new_source.letters) - letters
                new[numbers] = old
            elif _by_target(name):
                known = len(self.vocabulary.target)
                new[:known] = old[:known]
                new[len(new) - len(old) + known :] = old[known:]  # a pointer's last action, STEP
            elif name == TAGS:
                new[:, : old.shape[1]] = old
            else:
                new[...] = old
            weights[name] = new
        return weights


def _joined(old: Symbols, new: Symbols) -> Symbols:
    return tuple(dict.fromkeys(old + new))


def _by_target(name: str) -> bool:
    """Whether a tensor has a row per target symbol."""
    return name == "decoder.embedding.weight" or name.endswith((".output.weight", ".output.bias"))


def _fixed(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes of a tensor that do not depend on the number of symbols."""
    if name == ALIGNER_TABLE:
        return ()
    if name == TAGS:
        return shape[:1]
    return shape[1:] if name == SOURCES or _by_target(name) else shape
