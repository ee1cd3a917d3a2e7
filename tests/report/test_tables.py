from __future__ import annotations

import pytest

from hardalign.report.cells import collect
from hardalign.report.markup import Table
from hardalign.report.tables import average_tables, breakdown_tables, coverage_table, summary_table
from report.synthetic import result, right


def row(table: Table, *names: str) -> tuple[str, ...]:
    """The rest of the row that begins with these names."""
    (found,) = [one[len(names) :] for one in table.rows if one[: len(names)] == names]
    return found


def test_average_over_what_both_have() -> None:
    """NETtalk: 28.8 WER in the paper, 30.5 for CMUDict, which is not at hand: 29.6 on average."""
    (table,) = average_tables(collect([result(correct=right(72), per=0.071)]))
    assert table.header[:7] == (
        "System",
        "Paper's",
        "Data sets",
        "WER paper, all",
        "WER paper",
        "WER ours",
        "WER difference",
    )
    numbers = ("1 of 2", "29.6", "28.8", "28.0", "-0.8", "0.072", "0.073", "0.071", "-0.002")
    assert row(table, "hard", "4") == numbers
    missing = ("0 of 2", "30.3", "–", "–", "–", "0.074", "–", "–", "–")
    assert row(table, "soft", "3") == missing


def test_average_of_two_data_sets_and_seeds() -> None:
    results = [
        result(corpus, seed=seed, correct=right(count + seed))
        for corpus, count in (("g2p/NETtalk", 70), ("g2p/CMUDict", 68))
        for seed in (0, 2)
    ]
    (table,) = average_tables(collect(results))
    # WER 31 with seed 0 and 29 with seed 2: the deviation of the sample is the root of 2.
    assert row(table, "hard", "4")[:5] == ("2 of 2", "29.6", "29.6", "30.0 ± 1.4", "+0.4")


def test_systems_that_the_paper_has_not_got_come_last() -> None:
    (table,) = average_tables(collect([result(system="hard-hmm"), result()]))
    assert [one[1] for one in table.rows] == ["1", "U", "2", "3", "4", "R", "M", "–"]
    numbers = row(table, "hard-hmm", "–")
    assert numbers[:5] == ("1 of 2", "–", "–", "25.0", "–")


def test_data_that_the_paper_has_not_got() -> None:
    cells = collect([result("toy:copy"), result("wikidata-names/korean", "soft")])
    assert list(average_tables(cells)) == []
    names, toys = breakdown_tables(cells)
    assert names.rows == [
        ("wikidata-names/korean", "soft", "3", "1", "–", "75.0", "–", "–", "0.900", "–")
    ]
    assert toys.rows == [("toy:copy", "hard", "4", "1", "–", "75.0", "–", "–", "0.250", "–")]


def test_breakdown_shows_what_is_missing() -> None:
    results = [result("conll2017/danish", seed=seed, correct=right(90 + seed)) for seed in (0, 1)]
    (table,) = breakdown_tables(collect(results))
    assert len(table.rows) == 7
    numbers = ("2", "90.2", "90.5 ± 0.7", "+0.3", "0.148", "0.250 ± 0.000", "+0.102")
    assert row(table, "conll2017/danish", "hard", "4") == numbers
    missing = ("–", "92.6", "–", "–", "0.118", "–", "–")
    assert row(table, "conll2017/danish", "monotonic", "M") == missing


def test_sizes_and_recipes_have_tables_of_their_own() -> None:
    cells = collect([result(), result("g2p/CMUDict", size="large"), result(epochs=1)])
    assert [table.caption.partition(":")[0] for table in average_tables(cells)] == [
        "Grapheme-to-phoneme conversion, small",
        "Grapheme-to-phoneme conversion, small (epochs=1)",
        "Grapheme-to-phoneme conversion, large",
    ]


@pytest.mark.parametrize(
    ("task", "numbers"),
    [
        ("Grapheme-to-phoneme conversion", ("CMUDict", "1 of 2", "2 of 28", "26")),
        ("Morphological inflection", ("0 of 51", "0 of 714", "714")),
    ],
)
def test_coverage(task: str, numbers: tuple[str, ...]) -> None:
    results = [result(), result(seed=1), result(system="soft"), result(system="hard-hmm")]
    assert row(coverage_table(collect(results)), task)[-len(numbers) :] == numbers


def test_no_runs() -> None:
    assert list(average_tables({})) == list(breakdown_tables({})) == []


def test_summary() -> None:
    cells = collect(
        [*(result(seed=seed, correct=right(70 + seed)) for seed in (0, 1)), result(epochs=2)]
    )
    assert summary_table(cells).text() == (
        "Data                           System  Seeds         ACC            PER            MLD\n"
        "g2p/NETtalk, small             hard        2  70.5 ± 0.7  0.100 ± 0.000  0.250 ± 0.000\n"
        "g2p/NETtalk, small (epochs=2)  hard        1        75.0          0.100          0.250\n"
    )
