"""The errors that users meet: each says what is wrong, where, and what to do."""

from __future__ import annotations


class HardalignError(Exception):
    """A problem the user can mend. The command line prints it on one line and exits with 2."""


class InputError(HardalignError):
    """Something wrong in an input file, with the place where it is.

    ``line`` and ``column`` count from 1. ``column`` is the TAB-separated field, not the character.
    """

    def __init__(
        self, message: str, *, file: str, line: int | None = None, column: int | None = None
    ) -> None:
        place = file
        if line is not None:
            place += f", line {line}"
        if column is not None:
            place += f", column {column}"
        super().__init__(f"{place}: {message}")
        self.file = file
        self.line = line
        self.column = column
