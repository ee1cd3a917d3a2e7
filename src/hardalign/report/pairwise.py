"""Every system against every other, data set by data set and over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from hardalign.report.cells import Cell, Cells, Setting, differences
from hardalign.report.markup import MISSING, Table, number
from hardalign.report.paper import SIZES, in_order
from hardalign.report.significance import LEVEL, Comparison, compare_all

Square = dict[tuple[str, str], tuple[Comparison, float]]
"""How some pairs of systems compare, and p corrected for all pairs by Holm's method."""


def squares(cells: Cells) -> dict[Setting, Square]:
    """Compares all systems of a setting that have runs on the same items."""
    return {setting: _square(list(systems), [systems]) for setting, systems in cells.items()}


def pair_tables(cells: Cells, compared: dict[Setting, Square]) -> Iterator[Table]:
    """Gives a square per setting with two systems or more: by how many points rows beat columns."""
    for setting, square in compared.items():
        if square:
            yield _table(str(setting), list(cells[setting]), square)


def overall_tables(cells: Cells) -> Iterator[Table]:
    """Gives a square per size over the paper's data: a data set that both systems have counts once.

    How many these are stands in brackets.
    """
    for size in SIZES:
        settings = [systems for s, systems in cells.items() if s.size == size and s.is_the_papers]
        names = in_order({name for systems in settings for name in systems})
        if square := _square(names, settings):
            yield _table(f"All data sets, {size}", names, square, counted=True)


def _square(names: list[str], settings: list[dict[str, Cell]]) -> Square:
    """Compares each pair of systems over the settings in which both have runs."""
    points = {}
    for first, second in combinations(names, 2):
        both = [systems for systems in settings if {first, second} <= systems.keys()]
        data_sets = [differences(systems[first], systems[second]) for systems in both]
        if comparable := [of_items for of_items in data_sets if of_items is not None]:
            points[first, second] = comparable
    return compare_all(points)


def _table(where: str, systems: list[str], square: Square, *, counted: bool = False) -> Table:
    """Returns by how many points each row beats each column."""

    def entry(row: str, column: str) -> str:
        if row == column:
            return ""
        for names, sign in (((row, column), 1), ((column, row), -1)):
            if names in square:
                test, p = square[names]
                points = number(sign * test.difference, 1, sign=True) + "*" * (p < LEVEL)
                return f"{points} ({test.data_sets})" if counted else points
        return MISSING

    rows = [(row, *(entry(row, column) for column in systems)) for row in systems]
    return Table(f"{where}: accuracy of the row minus the column", ("System", *systems), rows)
