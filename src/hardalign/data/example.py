"""The unit of data: one source string and the target strings it may map to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

Symbols = tuple[str, ...]
"""A string cut into its symbols: characters, phonemes, or whatever the format says."""


@dataclass(frozen=True, slots=True)
class Example:
    """Holds one source string with its references.

    A line of most formats has one target; a name of the ``news`` format may have several; a line
    that is to be predicted has none.
    """

    source: Symbols
    targets: tuple[Symbols, ...] = ()
    tags: Symbols = ()
    text: str = ""
    """The source as the file spells it, for output."""
    line: int = 0
    """Where it stands in its file, counted from 1."""

    @property
    def key(self) -> tuple[Symbols, Symbols]:
        """Returns what the model sees: examples with the same key are the same question."""
        return self.tags, self.source


def training_pairs(examples: Iterable[Example]) -> Iterator[Example]:
    """Gives every target an example of its own, as training needs it."""
    for example in examples:
        for target in example.targets:
            yield replace(example, targets=(target,))


def evaluation_items(examples: Iterable[Example]) -> list[Example]:
    """Merges examples that ask the same question into one with all their distinct references.

    The order is that of first appearance.
    """
    merged: dict[tuple[Symbols, Symbols], Example] = {}
    for example in examples:
        first = merged.setdefault(example.key, example)
        targets = dict.fromkeys(first.targets + example.targets)
        merged[example.key] = replace(first, targets=tuple(targets))
    return list(merged.values())
