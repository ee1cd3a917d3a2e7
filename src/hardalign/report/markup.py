"""A table of texts, written as Markdown, as LaTeX or for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

MISSING = "–"
"""What stands where there is no figure."""

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "_": r"\_",
        "%": r"\%",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",  # the first cell of a row would be taken for the argument of the \\ before it
        "]": "{]}",
        "±": r"\textpm{}",
        "–": r"\textendash{}",
    }
)


@dataclass(frozen=True)
class Table:
    """A table whose cells are ready to be read."""

    caption: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: int = 1
    """How many columns, from the left, hold words; the others hold numbers and go to the right."""

    def markdown(self) -> str:
        """Returns the table as GitHub shows it."""
        rule = ["---"] * self.texts + ["---:"] * (len(self.header) - self.texts)
        lines = [
            _line(map(escape_markdown, self.header)),
            _line(rule),
            *(_line(map(escape_markdown, row)) for row in self.rows),
        ]
        return f"**{escape_markdown(self.caption)}**\n\n" + "\n".join(lines) + "\n"

    def text(self) -> str:
        """Returns the table for a terminal, columns aligned."""
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

    def latex(self) -> str:
        """Returns the table as a ``longtable`` with the rules of ``booktabs``."""
        columns = "l" * self.texts + "r" * (len(self.header) - self.texts)
        lines = [
            rf"\begin{{longtable}}{{{columns}}}",
            rf"\caption{{{escape_latex(self.caption)}}} \\",
            r"\toprule",
            " & ".join(map(escape_latex, self.header)) + r" \\",
            r"\midrule",
            r"\endhead",
            *(" & ".join(map(escape_latex, row)) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{longtable}",
        ]
        return "\n".join(lines) + "\n"


def escape_markdown(text: str) -> str:
    """Returns a text as it reads, in one line, with nothing that Markdown would take for a mark."""
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", " ".join(text.split()))


def escape_latex(text: str) -> str:
    """Returns a text as it reads, in one line, with nothing that LaTeX would take for a command."""
    escaped = " ".join(text.split()).translate(_LATEX)
    # A sign before a number is no hyphen.
    return re.sub(r"(?<![\w$])[+-](?=\d)", r"$\g<0>$", escaped)


def number(value: float | None, decimals: int, *, sign: bool = False) -> str:
    """Returns a figure as the paper prints it, or a dash where there is none."""
    if value is None:
        return MISSING
    rounded = round(value, decimals) + 0.0  # -0.04 is 0.0, not -0.0
    return f"{rounded:+.{decimals}f}" if sign else f"{rounded:.{decimals}f}"


def with_deviation(value: float | None, deviation: float | None, decimals: int) -> str:
    """Returns a mean and, where there is one, its standard deviation."""
    text = number(value, decimals)
    return text if deviation is None else f"{text} ± {number(deviation, decimals)}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
