from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from hardalign.table import Table, number, with_deviation

TABLE = Table("10% of a_b", ("System", "ACC"), [("hard|fast", "+0.5"), ("[a]", "–")])


def test_markdown() -> None:
    assert TABLE.markdown() == (
        "**10% of a\\_b**\n\n"
        "| System | ACC |\n"
        "| --- | ---: |\n"
        "| hard\\|fast | +0.5 |\n"
        "| \\[a\\] | – |\n"
    )


@given(st.text())
def test_no_cell_breaks_a_table(text: str) -> None:
    table = Table(text, (text, "b"), [(text, text)])
    for line in table.markdown().splitlines()[2:]:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3


def test_numbers() -> None:
    assert number(None, 1) == "–"
    assert number(-0.04, 1, sign=True) == "+0.0"
    assert number(0.0726, 3) == "0.073"
    assert with_deviation(70.04, 0.26, 1) == "70.0 ± 0.3"
    assert with_deviation(70.04, None, 1) == "70.0"
    assert with_deviation(None, None, 1) == "–"
