"""Every system against every other, data set by data set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from hardalign.grid.cells import Cells, Setting, differences
from hardalign.grid.markup import MISSING, Table, number
from hardalign.grid.significance import LEVEL, Comparison, compare, holm


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
    by_setting: dict[Setting, dict[tuple[str, str], str]] = {}
    for pair in found:
        star = "*" if pair.p < LEVEL else ""
        square = by_setting.setdefault(pair.setting, {})
        for names, sign in (((pair.first, pair.second), 1), ((pair.second, pair.first), -1)):
            square[names] = number(sign * pair.test.difference, 1, sign=True) + star
    for setting, square in by_setting.items():
        systems = list(cells[setting])
        rows = [
            (
                row,
                *(
                    "" if row == column else square.get((row, column), MISSING)
                    for column in systems
                ),
            )
            for row in systems
        ]
        overrides = f" ({setting.overrides})" if setting.overrides else ""
        caption = (
            f"{setting.corpus}, {setting.size}{overrides}: accuracy of the row minus the column"
        )
        yield Table(caption, ("System", *systems), rows)
