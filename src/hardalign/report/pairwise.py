"""Every system against every other, data set by data set and over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from hardalign.report.cells import Cell, Cells, Setting, differences
from hardalign.report.markup import MISSING, Table, number
from hardalign.report.paper import OTHER, SIZES, in_order
from hardalign.report.significance import LEVEL, Comparison, Floats, compare, holm

Square = dict[tuple[str, str], tuple[Comparison, float]]
"""Of some pairs of systems, how they compare, and p corrected for all pairs."""


@dataclass(frozen=True)
class Pair:
    """Two systems in one setting."""

    setting: Setting
    first: str
    second: str
    test: Comparison
    p: float
    """Corrected for all pairs of the setting, by Holm's method."""


def pairs(cells: Cells) -> Iterator[Pair]:
    """Compare all systems of a setting that have runs on the same items."""
    for setting, systems in cells.items():
        tests = {
            names: compare([items])
            for names in combinations(systems, 2)
            if (items := differences(*(systems[name] for name in names))) is not None
        }
        adjusted = holm([test.p for test in tests.values()])
        for ((first, second), test), p in zip(tests.items(), adjusted, strict=True):
            yield Pair(setting, first, second, test, p)


def pair_tables(cells: Cells, found: list[Pair]) -> Iterator[Table]:
    """One square per setting with at least two systems: by how many points a row beats a column."""
    by_setting: dict[Setting, Square] = {}
    for pair in found:
        square = by_setting.setdefault(pair.setting, {})
        square[pair.first, pair.second] = pair.test, pair.p
    for setting, square in by_setting.items():
        overrides = f" ({setting.overrides})" if setting.overrides else ""
        yield _table(f"{setting.corpus}, {setting.size}{overrides}", list(cells[setting]), square)


def overall_tables(cells: Cells) -> Iterator[Table]:
    """One square per size over the paper's tasks: each data set that both systems have counts once.

    How many these are stands in brackets.
    """
    for size in SIZES:
        settings = [cells[one] for one in cells if one.size == size and one.task != OTHER]
        names = in_order({name for systems in settings for name in systems})
        tests = {
            pair: compare(items)
            for pair in combinations(names, 2)
            if (items := _paired(settings, *pair))
        }
        if tests:
            adjusted = holm([test.p for test in tests.values()])
            square = dict(zip(tests, zip(tests.values(), adjusted, strict=True), strict=True))
            yield _table(f"All data sets, {size}", names, square, counted=True)


def _paired(settings: list[dict[str, Cell]], first: str, second: str) -> list[Floats]:
    both = (systems for systems in settings if {first, second} <= systems.keys())
    found = (differences(systems[first], systems[second]) for systems in both)
    return [items for items in found if items is not None]


def _table(where: str, systems: list[str], square: Square, *, counted: bool = False) -> Table:
    """By how many points each row beats each column."""

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
