from __future__ import annotations

import pytest

from hardalign.report.cells import collect
from hardalign.report.pairwise import overall_tables, pair_tables, squares
from report.synthetic import result, right


def test_all_pairs_of_a_setting() -> None:
    counts = {"soft": 70, "hard": 90, "monotonic": 71}
    cells = collect(result(system=system, correct=right(n)) for system, n in counts.items())
    compared = squares(cells)
    (square,) = compared.values()
    assert {names: round(test.difference) for names, (test, _) in square.items()} == {
        ("soft", "hard"): -20,
        ("soft", "monotonic"): -1,
        ("hard", "monotonic"): 19,
    }
    # The largest p needs no correction, the smallest that for all three.
    assert max(p for _, p in square.values()) == pytest.approx(1)
    assert min(p / test.p for test, p in square.values() if test.p < 0.01) >= 2
    (table,) = pair_tables(cells, compared)
    assert table.header == ("System", "soft", "hard", "monotonic")
    assert table.rows == [
        ("soft", "", "-20.0*", "-1.0"),
        ("hard", "+20.0*", "", "+19.0*"),
        ("monotonic", "+1.0", "-19.0*", ""),
    ]


def test_what_cannot_be_compared() -> None:
    cells = collect(
        [result(system="soft"), result(system="hard"), result(system="monotonic", items="others")]
    )
    compared = squares(cells)
    assert [list(square) for square in compared.values()] == [[("soft", "hard")]]
    (table,) = pair_tables(cells, compared)
    assert table.rows[2] == ("monotonic", "–", "–", "")


def test_sizes_are_not_compared() -> None:
    cells = collect([result(), result(system="soft", size="large")])
    assert list(squares(cells).values()) == [{}, {}]
    assert list(pair_tables(cells, squares(cells))) == []


def test_all_data_sets_together() -> None:
    danish, turkish, toy = "conll2017/danish", "conll2017/turkish", "toy:copy"
    counts = {
        (danish, "soft"): 70,
        (danish, "hard"): 90,
        (turkish, "soft"): 80,
        (turkish, "hard"): 90,
        (turkish, "hard-hmm"): 91,
        (toy, "soft"): 100,  # not of the paper's tasks: does not count
        (toy, "hard"): 0,
    }
    runs = [result(corpus=c, system=s, correct=right(n)) for (c, s), n in counts.items()]
    (table,) = overall_tables(collect([*runs, result(size="large")]))
    assert table.caption == "All data sets, small: accuracy of the row minus the column"
    assert table.rows == [
        ("soft", "", "-15.0* (2)", "-11.0* (1)"),
        ("hard", "+15.0* (2)", "", "-1.0 (1)"),
        ("hard-hmm", "+11.0* (1)", "+1.0 (1)", ""),
    ]


def test_no_data_sets_together() -> None:
    assert list(overall_tables(collect([result(corpus="toy:copy"), result()]))) == []
