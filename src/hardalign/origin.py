"""Where the data of a model came from: a corpus by its name, or files with their checksums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hardalign.errors import HardalignError


@dataclass(frozen=True)
class CorpusOrigin:
    """The arguments of ``load_corpus`` that give the corpus again."""

    corpus: str
    seed: int = 0
    stress: bool = True
    size: int | None = None


@dataclass(frozen=True)
class FileOrigin:
    """A file, or ``memory``, with what was read from it."""

    file: str
    examples: int
    sha256: str
    """Of the examples, as they were read."""


@dataclass(frozen=True)
class Origin:
    """Where training and development data came from: from one corpus or from two files."""

    corpus: CorpusOrigin | None = None
    train: FileOrigin | None = None
    dev: FileOrigin | None = None

    @property
    def dev_name(self) -> str:
        """What to call the development data in a message."""
        return self.dev.file if self.dev else self.corpus.corpus if self.corpus else "memory"

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON can hold it: what is there, and a corpus without a key of its own."""
        if self.corpus is not None:
            return asdict(self.corpus)
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, values: object) -> Origin:
        """Rebuild what ``to_dict`` made.

        Raises:
            HardalignError: If it is damaged.
        """
        if isinstance(values, dict) and "corpus" in values:
            return cls(corpus=CorpusOrigin(**_checked(values, _CORPUS)))
        if not isinstance(values, dict) or not values.keys() <= {"train", "dev"}:
            raise HardalignError(f"the origin of the data is malformed: {values!r:.100}")
        parts = {name: FileOrigin(**_checked(part, _FILE)) for name, part in values.items()}
        return cls(train=parts.get("train"), dev=parts.get("dev"))


_NONE = type(None)
_CORPUS = {"corpus": (str,), "seed": (int,), "stress": (bool,), "size": (int, _NONE)}
_FILE = {"file": (str,), "examples": (int,), "sha256": (str,)}


def _checked(values: object, types: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    if not isinstance(values, dict) or values.keys() != types.keys():
        raise HardalignError(f"the origin of the data needs {', '.join(types)}: {values!r:.100}")
    for name, allowed in types.items():
        if type(values[name]) not in allowed:
            raise HardalignError(f"the origin of the data has a strange {name}")
    return values
