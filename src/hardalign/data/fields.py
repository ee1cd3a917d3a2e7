"""The fields of a file: each is cut into symbols, and an error says where it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn

from hardalign.data.example import Symbols
from hardalign.data.formats import Format
from hardalign.errors import HardalignError, InputError

Purpose = Literal["training", "evaluation", "prediction"]
"""What examples are read for: prediction alone does without targets."""


@dataclass(frozen=True)
class Fields:
    """Cuts the fields of a file into symbols, and says where one is not as it must be."""

    file: str
    format: Format
    purpose: Purpose
    allow_empty: bool

    def source(self, text: str, line: int, column: int | None = None) -> Symbols:
        """Cuts a source, which must not be empty."""
        symbols = self.symbols(self.format.source_symbols, text, line, column)
        if not symbols:
            self.fail("the source is empty; fill it in, or check format and columns", line, column)
        return symbols

    def targets(self, text: str, line: int, column: int | None = None) -> tuple[Symbols, ...]:
        """Cuts a target; for prediction an empty one is none."""
        symbols = self.symbols(self.format.target_symbols, text, line, column)
        if symbols:
            return (symbols,)
        if self.purpose == "prediction":
            return ()
        if not self.allow_empty:
            self.fail("the target is empty; fill it in, or permit it (allow_empty)", line, column)
        return ((),)

    def tags(self, text: str, line: int, column: int) -> Symbols:
        """Cuts a list of tags."""
        return self.symbols(self.format.tag_symbols, text, line, column)

    def symbols(
        self, cut: Callable[[str], Symbols], text: str, line: int, column: int | None
    ) -> Symbols:
        """Cuts a text by ``cut``, and adds the place to what it complains of."""
        try:
            return cut(text)
        except HardalignError as error:
            self.fail(str(error), line, column)

    def fail(self, message: str, line: int | None = None, column: int | None = None) -> NoReturn:
        """Raises an error that says the place."""
        raise InputError(message, file=self.file, line=line, column=column)
