"""Settings: what a model is made of and how it is trained. Plain data, no torch."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

from hardalign.errors import HardalignError
from hardalign.files import build_record

WIDEST, DEEPEST = 100_000, 100
"""The largest widths and numbers of layers: far beyond use, but small enough to reckon with."""

TAGS = ("inside", "beside")
"""Where a word's tags may be."""


class _Settings:
    """Frozen settings that travel through JSON and say so when they come back damaged."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings as JSON can hold them."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Rebuilds settings that ``to_dict`` made, maybe of an earlier version with fewer of them.

        Raises:
            HardalignError: If a setting is unknown or out of range, or there are none at all.
        """
        return build_record(cls, values, f"the settings of {cls.__name__}")

    def _check_whole(self, name: str, least: int, most: int) -> None:
        """Refuse what is not a whole number from ``least`` to ``most``; True is none."""
        value = getattr(self, name)
        if type(value) is not int or not least <= value <= most:
            raise HardalignError(f"{_spaced(name)} must be from {least} to {most}, {_not(value)}")

    def _check_real(self, name: str, what: str, least: float, below: float = math.inf) -> None:
        """Refuse what is not a number above ``least``, or equal to it, and below ``below``."""
        value = getattr(self, name)
        if type(value) not in (int, float) or not least <= value < below:
            raise HardalignError(f"{_spaced(name)} must be {what}, {_not(value)}")

    def _check_flag(self, name: str) -> None:
        if type(getattr(self, name)) is not bool:
            raise HardalignError(f"{name} must be true or false, {_not(getattr(self, name))}")


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _not(value: object) -> str:
    return f"not {value!r:.100}"


@dataclass(frozen=True)
class ModelConfig(_Settings):
    """The sizes of a model: the paper's hyperparameter table. The defaults are its *small*.

    Raises:
        HardalignError: If a size is out of its range.
    """

    system: str = "hard"
    """One of the names in ``hardalign.systems.SYSTEMS``."""
    embedding: int = 100
    """d_e, the width of source and target embeddings."""
    encoder: int = 200
    """Width of the encoder LSTM, in each of its two directions."""
    encoder_layers: int = 1
    decoder: int = 200
    """d_h, the width of the decoder LSTM."""
    decoder_layers: int = 1
    dropout: float = 0.2
    """The share of the numbers in embeddings and decoder states that training leaves out."""
    state_dropout: float = 0.0
    """The share of the numbers in the encoder's last states likewise; the paper leaves out none."""
    symbol_dropout: float = 0.0
    """The share of target symbols that training keeps from the decoder; the paper keeps none."""
    rare_dropout: float = 0.0
    """How often training reads a symbol as unknown that occurs once; others the less, the more
    often they occur. The paper never does; systems with input feeding on the source side alone."""
    samples: int = 2
    """Positions drawn at each step, where training draws any."""
    copying: bool = False
    """Whether a position may also emit its own symbol; see ``hardalign.systems.options``."""
    tags: str = "inside"
    """Where a word's tags are: inside it, before its letters, or beside it."""
    known_forms: int = 0
    """How many other forms of the same lemma a source has beside it; see ``known_forms``."""

    def __post_init__(self) -> None:
        if type(self.system) is not str:
            raise HardalignError(f"system must be a name, {_not(self.system)}")
        for name in ("embedding", "encoder", "decoder", "samples"):
            self._check_whole(name, 1, WIDEST)
        for name in ("encoder_layers", "decoder_layers"):
            self._check_whole(name, 1, DEEPEST)
        for name in ("dropout", "state_dropout", "symbol_dropout", "rare_dropout"):
            self._check_real(name, "at least 0 and below 1", 0.0, 1.0)
        self._check_whole("known_forms", 0, WIDEST)
        self._check_flag("copying")
        if self.tags not in TAGS:
            raise HardalignError(f"tags must be {' or '.join(TAGS)}, {_not(self.tags)}")


SIZES = {
    "small": ModelConfig(),
    "large": ModelConfig(
        embedding=200, encoder=400, encoder_layers=2, decoder=400, dropout=0.4, samples=4
    ),
}
"""The two columns of the paper's hyperparameter table."""
CLIPS: dict[str, float | None] = {"small": None, "large": 5.0}
"""The gradient norm at which the paper clips models of each size."""


def find_size(name: str) -> ModelConfig:
    """Returns the settings of a size.

    Raises:
        HardalignError: If there is none of that name.
    """
    if name not in SIZES:
        raise HardalignError(f"no size is called {name!r}; there are {', '.join(SIZES)}")
    return SIZES[name]


def default_batch_size(pairs: int) -> int:
    """Returns a batch size that makes at least 100 steps of an epoch, from 5 to the paper's 20."""
    return max(5, min(TrainingConfig.batch_size, pairs // 100))


@dataclass(frozen=True)
class TrainingConfig(_Settings):
    """The recipe. The defaults are the paper's, for size *small*.

    Raises:
        HardalignError: If a setting is out of its range.
    """

    epochs: int = 50
    batch_size: int = 20
    """Pairs per optimizer step, over all devices together."""
    learning_rate: float = 1e-3
    """Adam's rate at the start; halved after epochs that do not improve on development."""
    patience: int = 1
    """How many such epochs there must be in a row until the rate is halved."""
    min_learning_rate: float = 1e-5
    """Training stops when the rate falls below this."""
    clip: float | None = None
    """Largest gradient norm; none for no clipping. The paper clips large models at 5."""
    average: bool = False
    """Whether the weights that are kept are means over the last steps, not those of the last."""
    invent: int = 0
    """So many invented examples are learned from besides the real ones."""
    seed: int = 0
    threads: int | None = None
    """Processor threads of each process, on which the last digits of the weights depend. The first
    model folders do not say how many they were trained with."""

    def __post_init__(self) -> None:
        self._check_whole("epochs", 0, 10**9)
        self._check_whole("batch_size", 1, 10**9)
        self._check_whole("patience", 1, 10**9)
        self._check_whole("invent", 0, 10**9)
        self._check_flag("average")
        self._check_whole("seed", -(2**63), 2**63 - 1)
        self._check_real("learning_rate", "above 0 and finite", math.ulp(0.0))
        self._check_real("min_learning_rate", "at least 0 and finite", 0.0)
        if self.clip is not None:
            self._check_real("clip", "above 0 and finite", math.ulp(0.0))
        if self.threads is not None:
            self._check_whole("threads", 1, 1024)
