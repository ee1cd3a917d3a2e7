"""Settings: what a model is made of and how it is trained. Plain data, no torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from hardalign.errors import HardalignError


class _Settings:
    """Frozen settings that travel through JSON and say so when they come back damaged."""

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON can hold them."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Rebuild settings that ``to_dict`` made, maybe of an earlier version with fewer of them.

        Raises:
            HardalignError: if a setting is unknown or there are none at all.
        """
        known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        if not isinstance(values, dict):
            raise HardalignError(f"settings of {cls.__name__} are missing; found {values!r}")
        if unknown := sorted(set(values) - known):
            raise HardalignError(f"unknown settings of {cls.__name__}: {', '.join(unknown)}")
        return cls(**values)


@dataclass(frozen=True)
class ModelConfig(_Settings):
    """The sizes of a model: the paper's hyperparameter table. The defaults are its *small*."""

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
    samples: int = 2
    """Positions drawn at each step, where training draws any."""


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
    """The settings of a size.

    Raises:
        HardalignError: If there is none of that name.
    """
    if name not in SIZES:
        raise HardalignError(f"no size is called {name!r}; there are {', '.join(SIZES)}")
    return SIZES[name]


@dataclass(frozen=True)
class TrainingConfig(_Settings):
    """The recipe. The defaults are the paper's, for size *small*."""

    epochs: int = 50
    batch_size: int = 20
    """Pairs per optimizer step, over all devices together."""
    learning_rate: float = 1e-3
    """Adam's rate at the start; halved after an epoch that does not improve on development."""
    min_learning_rate: float = 1e-5
    """Training stops when the rate falls below this."""
    clip: float | None = None
    """Largest gradient norm; none for no clipping. The paper clips large models at 5."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.epochs < 0:
            raise HardalignError(f"--epochs must be at least 0, not {self.epochs}")
        if self.batch_size < 1:
            raise HardalignError(f"--batch-size must be at least 1, not {self.batch_size}")
        if not self.learning_rate > 0:
            raise HardalignError(f"--learning-rate must be above 0, not {self.learning_rate}")
        if self.clip is not None and not self.clip > 0:
            raise HardalignError(f"--clip must be above 0, not {self.clip}")
