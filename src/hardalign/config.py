"""Model and training settings, as dataclasses: plain data, no torch.

Every field of ``ModelConfig`` and ``TrainingConfig`` is an option of ``hardalign train --set``, of
``hardalign.train``, in plans and in ``config.json``; msgspec validates it against its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Meta

from hardalign.errors import HardalignError

T = TypeVar("T")
Setting = str | float | bool | None
"""Any type that a setting can have; each field declares its own."""
Share = Annotated[float, Meta(ge=0, lt=1)]
Width = Annotated[int, Meta(ge=1, le=100_000)]
Layers = Annotated[int, Meta(ge=1, le=100)]
Count = Annotated[int, Meta(ge=0, le=10**9)]
AtLeastOne = Annotated[int, Meta(ge=1, le=10**9)]
Positive = Annotated[float, Meta(gt=0, le=1e308)]
Recipe = Literal["auto", "paper"]
TagPlace = Literal["inside", "beside"]

DEFAULT_SYSTEM = "hard-hmm"
"""The system to train if none is named."""


def option(default: T, text: str) -> T:
    """Declare a field with its default and help text."""
    return field(default=default, metadata={"help": text})


def _convert(name: str, value: Any, kind: Any, text: bool = False) -> Any:
    """Validate and convert the value of a field; ``text`` parses it from a string."""
    if text and value == "none" and type(None) in get_args(kind):
        return None
    try:
        return msgspec.convert(value, kind, strict=not text)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # a lone surrogate
        what = str(error).removeprefix("Expected ").partition(", got")[0].replace("`", "")
        if str(error).startswith("Invalid enum"):
            what = " or ".join(map(str, get_args(kind)))
        raise HardalignError(f"{name} must be {what}, not {value!r:.100}") from error


@cache
def _kinds(owner: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields, by name."""
    hints = get_type_hints(owner, include_extras=True)
    return {one.name: hints[one.name] for one in fields(owner)}


class _Settings:
    """Frozen settings, validated on creation and serialisable as JSON."""

    _renamed: ClassVar[Mapping[str, str | None]] = {}
    """Field names of earlier versions with their present names; None if the field was removed."""

    def __post_init__(self) -> None:
        for name, kind in _kinds(type(self)).items():  # type: ignore[arg-type]
            object.__setattr__(self, name, _convert(name, getattr(self, name), kind))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a JSON-serialisable dict."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Rebuild settings from ``to_dict``, possibly of an earlier version."""
        if not isinstance(values, dict):
            raise HardalignError(f"{cls.__name__} must be an object, not {values!r:.100}")
        renamed: dict[Any, Any] = {cls._renamed.get(k, k): value for k, value in values.items()}
        renamed.pop(None, None)
        if unknown := renamed.keys() - _kinds(cls):  # type: ignore[arg-type]
            raise HardalignError(f"{cls.__name__} has an unknown entry {min(unknown)!r:.100}")
        return cls(**renamed)


@dataclass(frozen=True)
class ModelConfig(_Settings):
    """Model hyperparameters, as in the paper's table; the defaults are its *small* column."""

    system: str = option(DEFAULT_SYSTEM, "One of the systems that `hardalign info` lists.")
    embedding: Width = option(100, "Width of source and target embeddings, d_e.")
    encoder: Width = option(200, "Width of the encoder LSTM, in each direction.")
    encoder_layers: Layers = option(1, "Layers of the encoder LSTM.")
    decoder: Width = option(200, "Width of the decoder LSTM, d_h.")
    decoder_layers: Layers = option(1, "Layers of the decoder LSTM.")
    dropout: Share = option(0.2, "Dropout on embeddings and decoder states.")
    state_dropout: Share = option(0.0, "Dropout on the output states of the encoder.")
    symbol_dropout: Share = option(
        0.0, "Share of target symbols hidden from the decoder, to make it rely on the source."
    )
    unk_dropout: Share = option(
        0.0, "Probability of reading a symbol that occurs once as unknown; lower for frequent ones."
    )
    samples: Width = option(2, "Positions sampled per step, if training samples positions.")
    copying: bool = option(False, "Let a source position also emit its own symbol.")
    tags: TagPlace = option(
        "inside", "inside: tags precede the word's letters; beside: only the decoder reads them."
    )
    known_forms: Annotated[int, Meta(ge=0, le=100_000)] = option(
        0, "Number of other forms of the lemma to read beside it, taken from the training data."
    )
    _renamed: ClassVar[Mapping[str, str | None]] = {"rare_dropout": "unk_dropout"}


@dataclass(frozen=True)
class TrainingConfig(_Settings):
    """Training hyperparameters; ``hardalign.training.recipe`` has the values of each recipe."""

    recipe: Recipe = option(
        "auto", "auto: cosine decay, by the amount of data; paper: the paper's, halving the rate."
    )
    epochs: Count = option(10, "Passes over the data (paper: at most); 0 saves an untrained model.")
    batch_size: AtLeastOne = option(32, "Pairs per step.")
    learning_rate: Positive = option(
        3e-3, "Learning rate of Adam: the peak (auto) or the initial one (paper)."
    )
    warmup: Share = option(0.1, "Share of the steps in which the rate rises to its peak (auto).")
    weight_decay: Share = option(0.0, "Weight decay of AdamW.")
    clip: Positive | None = option(
        None, "Clip the gradient to this norm: of the mean over pairs (auto) or symbols (paper)."
    )
    patience: AtLeastOne = option(1, "Epochs without improvement until the rate is halved (paper).")
    min_learning_rate: Annotated[float, Meta(ge=0, le=1)] = option(
        1e-5, "Stop training when the rate falls below this (paper)."
    )
    hallucinate: Count = option(
        0, "Number of hallucinated examples to add: real affixes around random stems."
    )
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] = option(
        0, "Random seed for weights, data order and dropout."
    )
    threads: Annotated[int, Meta(ge=1, le=1024)] | None = option(
        None, "CPU threads; the last digits of the weights depend on how many."
    )
    _renamed: ClassVar[Mapping[str, str | None]] = {"invent": "hallucinate", "average": None}

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Rebuild settings; without a recipe they predate 0.3, which had only the paper's."""
        if isinstance(values, dict):
            values = {"recipe": "paper", **values}
        return super().from_dict(values)


SIZES = {
    "small": ModelConfig(),
    "large": ModelConfig(
        embedding=200, encoder=400, encoder_layers=2, decoder=400, dropout=0.4, samples=4
    ),
}
"""The two columns of the paper's hyperparameter table."""
LEARNING_ONLY = frozenset({"dropout", "state_dropout", "symbol_dropout", "unk_dropout", "samples"})
"""Model settings that affect only training, not the trained model itself."""
SETTINGS = {
    name: (owner, field.metadata["help"])
    for owner in (ModelConfig, TrainingConfig)
    for field in fields(owner)
    if (name := field.name) != "system"
}
"""Every setting by name, with its dataclass and help text."""


def find_size(name: str) -> ModelConfig:
    """Return the model settings of a named size."""
    if name not in SIZES:
        raise HardalignError(f"no size is called {name!r}; there are {', '.join(SIZES)}")
    return SIZES[name]


def check_settings(
    settings: Mapping[str, Any], *, text: bool = False, others: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Validate settings by name and convert them to their types: 5 and 5.0 become the same.

    ``text`` parses values from strings, as on the command line; ``others`` are further names with
    their types. The error for an unknown name suggests the nearest one.
    """
    known = {name: _kinds(owner)[name] for name, (owner, _) in SETTINGS.items()}
    known.update(others or {})
    for name in settings:
        if name not in known:
            from difflib import get_close_matches

            old = {**ModelConfig._renamed, **TrainingConfig._renamed}.get(name)
            near = [old] if old else get_close_matches(name, known, 1, 0.5)
            advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise HardalignError(f"no setting is called {name!r}; {advice}")
    return {name: _convert(name, value, known[name], text) for name, value in settings.items()}


def fields_of(owner: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are fields of ``owner``: ``ModelConfig`` or ``TrainingConfig``."""
    return {name: value for name, value in settings.items() if SETTINGS[name][0] is owner}
