"""The guide's table of systems says what the rows of the code say."""

from __future__ import annotations

from docs.pages import ROOT
from hardalign.config import DEFAULT_SYSTEM
from hardalign.systems import SYSTEMS

PAGE = ROOT / "docs/reference/systems.md"


def test_every_system_has_its_row() -> None:
    lines = PAGE.read_text("utf-8").partition("## How accurate?")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    table = {row[0].strip("`"): row[2:] for row in cells if len(row) == 5}
    for name, system in SYSTEMS.items():
        assert table[name] == [system.advice or "–", system.score, system.alignment], name
    assert set(table) - {"system", "---"} == set(SYSTEMS)


def test_the_short_answer_is_the_default() -> None:
    assert f"Short answer: `{DEFAULT_SYSTEM}`, the default." in PAGE.read_text("utf-8")
