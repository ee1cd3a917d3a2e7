"""A table of texts, as Markdown or for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

MISSING = "–"
"""Stands where there is no figure."""


@dataclass(frozen=True)
class Table:
    """A table whose cells are formatted already."""

    caption: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: int = 1
    """How many columns, from the left, hold words; the others hold numbers, aligned right."""

    def markdown(self) -> str:
        """Return the table as Markdown, with every cell escaped."""
        rule = ["---"] * self.texts + ["---:"] * (len(self.header) - self.texts)
        lines = [
            _line(map(escape_markdown, self.header)),
            _line(rule),
            *(_line(map(escape_markdown, row)) for row in self.rows),
        ]
        return f"**{escape_markdown(self.caption)}**\n\n" + "\n".join(lines) + "\n"

    def text(self) -> str:
        """Return the table for a terminal, columns aligned."""
        rows = [self.header, *self.rows]
        widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            blanks = [" " * (w - cell_len(cell)) for w, cell in zip(widths, row, strict=True)]
            cells = [
                cell + blank if index < self.texts else blank + cell
                for index, (cell, blank) in enumerate(zip(row, blanks, strict=True))
            ]
            lines.append("  ".join(cells).rstrip() + "\n")
        return "".join(lines)


def escape_markdown(text: str) -> str:
    """Return a text in one line, with everything escaped that Markdown would interpret."""
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", " ".join(text.split()))


def number(value: float | None, decimals: int, *, sign: bool = False) -> str:
    """Format a figure, or a dash where there is none."""
    if value is None:
        return MISSING
    rounded = round(value, decimals) + 0.0  # -0.04 is 0.0, not -0.0
    return f"{rounded:+.{decimals}f}" if sign else f"{rounded:.{decimals}f}"


def with_deviation(value: float | None, deviation: float | None, decimals: int) -> str:
    """Format a mean with its standard deviation, if there is one."""
    text = number(value, decimals)
    return text if deviation is None else f"{text} ± {number(deviation, decimals)}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
