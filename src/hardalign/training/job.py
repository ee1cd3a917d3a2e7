"""What is trained on what, and who is told how it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hardalign.data.augmentation import hallucinate
from hardalign.data.formats import Example, evaluation_items, training_pairs
from hardalign.data.text import Symbols
from hardalign.data.vocabulary import UNKNOWN, Encoded, Indexer
from hardalign.model_folder import Description
from hardalign.systems.options import indexer
from hardalign.training.checkpoint import Progress
from hardalign.training.warmstart import Start


@dataclass(frozen=True)
class Development:
    """The development set, numbered once."""

    pairs: list[Encoded]
    """For the log-likelihood: every pair that the vocabulary can spell."""
    unspellable: int
    """Pairs left out of it, because their target has a symbol that the model cannot write."""
    sources: list[Encoded]
    """For the accuracy: every distinct source."""
    references: list[tuple[Symbols, ...]]

    @classmethod
    def of(cls, examples: Sequence[Example], numbers: Indexer) -> Development:
        """Number the examples of a development set."""
        pairs = [numbers.pair(pair) for pair in training_pairs(examples)]
        spellable = [pair for pair in pairs if UNKNOWN not in pair.target]
        items = evaluation_items(examples)
        sources = [numbers.source(item) for item in items]
        references = [item.targets for item in items]
        return cls(spellable, len(pairs) - len(spellable), sources, references)


@dataclass(frozen=True)
class Job:
    """A training run: everything it needs, and nothing that cannot travel to another process."""

    folder: Path
    description: Description
    train: list[Encoded]
    development: Development
    start: Start | None = None
    """The weights to begin with; none for random ones."""

    @classmethod
    def of(
        cls,
        folder: Path,
        description: Description,
        train: Sequence[Example],
        development: Sequence[Example],
        start: Start | None = None,
    ) -> Job:
        """Number the data of a run."""
        numbers = indexer(description.model, description.vocabulary, description.format)
        config = description.training
        examples = [*train, *hallucinate(train, config.invent, config.seed)]
        pairs = [numbers.pair(pair) for pair in training_pairs(examples)]
        return cls(folder, description, pairs, Development.of(development, numbers), start)


class Reporter:
    """Is told how training goes, and says nothing; the base of those that do."""

    def note(self, text: str) -> None:
        """Is told something that the user should know."""

    def begin(self, progress: Progress, job: Job) -> None:
        """Is told that training starts, or goes on after ``progress``, which is kept up to date."""

    def advance(self, pairs: int, total: int) -> None:
        """Is told that so many of an epoch's pairs are done."""

    def epoch(self, row: dict[str, Any]) -> None:
        """Is told that an epoch is complete and saved; ``row`` is a line of ``metrics.jsonl``."""

    def end(self) -> None:
        """Is told that training is over, for better or worse."""
