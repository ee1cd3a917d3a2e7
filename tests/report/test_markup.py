from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from hardalign.report.markup import Table, escape_latex, number, with_deviation

TABLE = Table("10% of a_b", ("System", "ACC"), [("hard|fast", "+0.5"), ("[a]", "–")])


def test_markdown() -> None:
    assert TABLE.markdown() == (
        "**10% of a\\_b**\n\n"
        "| System | ACC |\n"
        "| --- | ---: |\n"
        "| hard\\|fast | +0.5 |\n"
        "| \\[a\\] | – |\n"
    )


def test_latex() -> None:
    assert TABLE.latex() == (
        "\\begin{longtable}{lr}\n"
        "\\caption{10\\% of a\\_b} \\\\\n"
        "\\toprule\n"
        "System & ACC \\\\\n"
        "\\midrule\n"
        "\\endhead\n"
        "hard\\textbar{}fast & $+$0.5 \\\\\n"
        "{[}a{]} & \\textendash{} \\\\\n"
        "\\bottomrule\n"
        "\\end{longtable}\n"
    )


@given(st.text())
def test_no_cell_breaks_a_table(text: str) -> None:
    table = Table(text, (text, "b"), [(text, text)])
    for line in table.markdown().splitlines()[2:]:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3
    bare = re.sub(r"\\[&%$#_{}\\]|\\text\w+\{\}", "", escape_latex(text))
    assert not set(bare) & set("&%#_^~\\<>|")
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0


def test_signs_are_no_hyphens() -> None:
    assert escape_latex("-0.5 to +1.25") == "$-$0.5 to $+$1.25"
    assert escape_latex("soft-feed-2 1–2 3 ± 1") == r"soft-feed-2 1\textendash{}2 3 \textpm{} 1"


def test_numbers() -> None:
    assert number(None, 1) == "–"
    assert number(-0.04, 1, sign=True) == "+0.0"
    assert number(0.0726, 3) == "0.073"
    assert with_deviation(70.04, 0.26, 1) == "70.0 ± 0.3"
    assert with_deviation(70.04, None, 1) == "70.0"
    assert with_deviation(None, None, 1) == "–"
