"""Where the data of a model came from: a corpus by its name, or files with their checksums."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from hardalign.errors import HardalignError
from hardalign.files import build_record


@dataclass(frozen=True)
class CorpusOrigin:
    """The arguments of ``load_corpus`` that give the corpus again."""

    corpus: str
    seed: int = 0
    stress: bool = True
    size: int | None = None
    normalization: str = "NFC"
    target_parts: bool = False


@dataclass(frozen=True)
class FileOrigin:
    """A file, or ``memory``, with what was read from it; one that has moved is still the same."""

    file: str = field(compare=False)
    examples: int
    sha256: str
    """Of the examples, as they were read."""


@dataclass(frozen=True)
class Origin:
    """Where training and development data came from: from one corpus or from two files."""

    corpus: CorpusOrigin | None = None
    train: FileOrigin | None = None
    dev: FileOrigin | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the record for JSON: what is there, and a corpus without a key of its own."""
        if self.corpus is not None:
            return asdict(self.corpus)
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, values: object) -> Origin:
        """Rebuild what ``to_dict`` returned, or raise a ``HardalignError`` if it is damaged."""
        what = "the origin of the data"
        if isinstance(values, dict) and "corpus" in values:
            return cls(corpus=build_record(CorpusOrigin, values, what))
        if not isinstance(values, dict) or not values.keys() <= {"train", "dev"}:
            raise HardalignError(f"{what} is malformed: {values!r:.100}")
        files = {name: build_record(FileOrigin, file, what) for name, file in values.items()}
        return cls(train=files.get("train"), dev=files.get("dev"))
