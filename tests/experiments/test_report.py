from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.helpers import result, right, write
from hardalign.errors import HardalignError
from hardalign.experiments.report import (
    ACC,
    PER,
    Setting,
    average,
    collect,
    differences,
    pair_tables,
    paper_tables,
    summary_table,
    write_report,
)
from hardalign.experiments.run import Run, prepare, write_failure
from hardalign.plot import Table


def test_seeds_are_put_together() -> None:
    cells = collect([result(seed=seed, correct=right(70 + seed)) for seed in (2, 0, 1)])
    (setting,) = cells
    cell = cells[setting]["hard"]
    assert [one.run.seed for one in cell.results] == [0, 1, 2]
    assert average([cell], ACC) == (pytest.approx(71), pytest.approx(1))
    assert average([cell], PER)[1] == 0


def test_one_run_has_no_deviation() -> None:
    (systems,) = collect([result()]).values()
    assert average([systems["hard"]], ACC)[1] is None


def test_other_recipes_stay_apart() -> None:
    cells = collect([result(), result(epochs=1), result(size="large"), result("toy:copy")])
    assert list(cells) == [
        Setting("g2p/NETtalk", "small"),
        Setting("g2p/NETtalk", "small", "epochs=1"),
        Setting("g2p/NETtalk", "large"),
        Setting("toy:copy", "small"),
    ]


def test_the_recipe_of_a_corpus_is_no_other_recipe() -> None:
    cells = collect(
        result("news15/EnHi", **overrides)
        for overrides in ({}, {"batch_size": 20}, {"hold_out": True})
    )
    assert [setting.overrides for setting in cells] == ["", "batch_size=20", "hold_out=true"]
    cells = collect([result("news15/EnHi", recipe="auto")])
    assert [s.overrides for s in cells] == ['batch_size=50, hold_out=false, recipe="auto"']
    cells = collect([result(batch_size=50), result(batch_size=20)])
    assert [setting.overrides for setting in cells] == ["", "batch_size=50"]


def test_order_is_that_of_the_paper() -> None:
    corpora = ["wikidata-names/korean", "conll2017/danish", "news15/EnHi", "g2p/NETtalk"]
    assert [setting.corpus for setting in collect(map(result, [*corpora, "g2p/CMUDict"]))] == [
        "g2p/CMUDict",
        "g2p/NETtalk",
        "news15/EnHi",
        "wikidata-names/korean",
        "conll2017/danish",
    ]


def test_differences_are_of_means_over_seeds() -> None:
    cells = collect(
        [
            result(system="hard", seed=0, correct=[1, 1, 0]),
            result(system="hard", seed=1, correct=[1, 0, 0]),
            result(system="soft", seed=5, correct=[0, 0, 1]),
        ]
    )
    (systems,) = cells.values()
    found = differences(systems["hard"], systems["soft"])
    assert found is not None
    assert found.tolist() == [100, 50, -100]


def test_only_equal_items_are_compared() -> None:
    """Toy words depend on the seed, so only runs of the same seed share items."""
    cells = collect(
        [
            result(system="hard", seed=0, items="a", correct=[1, 1]),
            result(system="hard", seed=1, items="b", correct=[0, 0, 0]),
            result(system="soft", seed=1, items="b", correct=[0, 1, 0]),
            result(system="monotonic", seed=2, items="c", correct=[1]),
        ]
    )
    (systems,) = cells.values()
    found = differences(systems["hard"], systems["soft"])
    assert found is not None
    assert found.tolist() == [0, -100, 0]
    assert differences(systems["hard"], systems["monotonic"]) is None


def test_deviation_of_averages_is_over_common_seeds() -> None:
    cells = collect(
        [
            *(result("g2p/NETtalk", seed=seed, correct=right(60 + 4 * seed)) for seed in (0, 1)),
            *(result("g2p/CMUDict", seed=seed, correct=right(80 - 2 * seed)) for seed in (0, 1, 2)),
        ]
    )
    both = [systems["hard"] for systems in cells.values()]
    assert average(both, ACC) == pytest.approx((70, 2**-0.5))  # of 70 and 71
    assert average([], ACC) == (None, None)


def test_figures_that_a_run_has_not_got() -> None:
    """Runs recorded long ago have no items and not all metrics."""
    old = replace(result(seed=1), metrics={"acc": 80.0, "wer": 20.0}, correct=[])
    (systems,) = collect([result(per=0.1), old, result(system="soft")]).values()
    cell = systems["hard"]
    assert average([cell], PER) == (0.1, None)
    assert average([cell], ACC)[0] == cell.accuracy == 77.5
    found = differences(cell, systems["soft"])
    assert found is not None
    assert found.tolist() == [0, 0, 0, 0]
    (systems,) = collect([old, result(system="soft")]).values()
    assert differences(systems["hard"], systems["soft"]) is None


def row(table: Table, *names: str) -> tuple[str, ...]:
    """The rest of the row that begins with these names."""
    (found,) = [one[len(names) :] for one in table.rows if one[: len(names)] == names]
    return found


def test_mean_over_what_both_have() -> None:
    """NETtalk: 28.8 WER in the paper; CMUDict is not at hand."""
    (table,) = paper_tables(collect([result(correct=right(72), per=0.071)]))
    assert table.header[:4] == ("Data set", "System", "Paper's", "Seeds")
    assert table.header[4:7] == ("WER paper", "WER ours", "WER difference")
    numbers = ("1", "28.8", "28.0", "-0.8", "0.073", "0.071", "-0.002")
    assert row(table, "mean of 1 of 2", "hard", "4") == numbers
    assert row(table, "g2p/NETtalk", "hard", "4") == numbers


def test_mean_of_two_data_sets_and_seeds() -> None:
    results = [
        result(corpus, seed=seed, correct=right(count + seed))
        for corpus, count in (("g2p/NETtalk", 70), ("g2p/CMUDict", 68))
        for seed in (0, 2)
    ]
    (table,) = paper_tables(collect(results))
    # WER 31 with seed 0 and 29 with seed 2: the deviation of the sample is the root of 2.
    assert row(table, "mean of 2 of 2", "hard", "4")[:4] == ("2", "29.6", "30.0 ± 1.4", "+0.4")
    assert row(table, "g2p/NETtalk", "hard", "4")[:4] == ("2", "28.8", "29.0 ± 1.4", "+0.2")


def test_systems_that_the_paper_has_not_got_come_last() -> None:
    (table,) = paper_tables(collect([result(system="hard-hmm"), result()]))
    assert [one[1] for one in table.rows] == 2 * ["hard", "hard-hmm"]
    assert row(table, "g2p/NETtalk", "hard-hmm", "–")[:4] == ("1", "–", "25.0", "–")


def test_data_that_the_paper_has_not_got() -> None:
    cells = collect([result("toy:copy"), result("wikidata-names/korean", "soft")])
    names, toys = paper_tables(cells)
    assert names.rows == [
        ("wikidata-names/korean", "soft", "3", "1", "–", "75.0", "–", "–", "0.900", "–")
    ]
    assert toys.rows == [("toy:copy", "hard", "4", "1", "–", "75.0", "–", "–", "0.250", "–")]


def test_sizes_and_recipes_have_tables_of_their_own() -> None:
    cells = collect([result(), result("g2p/CMUDict", size="large"), result(epochs=1)])
    assert [table.caption for table in paper_tables(cells)] == [
        "Grapheme-to-phoneme conversion, small",
        "Grapheme-to-phoneme conversion, small (epochs=1)",
        "Grapheme-to-phoneme conversion, large",
    ]


def test_summary() -> None:
    cells = collect(
        [*(result(seed=seed, correct=right(70 + seed)) for seed in (0, 1)), result(epochs=2)]
    )
    assert summary_table(cells).text() == (
        "Data                           System  Seeds         ACC            PER            MLD\n"
        "g2p/NETtalk, small             hard        2  70.5 ± 0.7  0.100 ± 0.000  0.250 ± 0.000\n"
        "g2p/NETtalk, small (epochs=2)  hard        1        75.0          0.100          0.250\n"
    )


def test_all_pairs_of_a_setting() -> None:
    counts = {"soft": 70, "hard": 90, "monotonic": 71}
    cells = collect(result(system=system, correct=right(n)) for system, n in counts.items())
    (table,) = pair_tables(cells)
    assert table.header == ("System", "soft", "hard", "monotonic")
    assert table.rows == [
        ("soft", "", "-20.0*", "-1.0"),
        ("hard", "+20.0*", "", "+19.0*"),
        ("monotonic", "+1.0", "-19.0*", ""),
    ]


def test_what_cannot_be_compared() -> None:
    """Other items, other sizes."""
    cells = collect(
        [
            result(system="soft"),
            result(system="hard"),
            result(system="monotonic", items="others"),
            result(system="soft-feed", size="large"),
        ]
    )
    (table,) = pair_tables(cells)
    assert table.rows[2] == ("monotonic", "–", "–", "")


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
    table, *each = pair_tables(collect([*runs, result(size="large")]))
    assert len(each) == 3
    assert (
        table.caption == "All data sets of the paper, small: accuracy of the row minus the column"
    )
    assert table.rows == [
        ("soft", "", "-15.0* (2)", "-11.0* (1)"),
        ("hard", "+15.0* (2)", "", "-1.0 (1)"),
        ("hard-hmm", "+11.0* (1)", "+1.0 (1)", ""),
    ]


def test_report(tmp_path: Path) -> None:
    write(
        tmp_path,
        *(result(seed=seed, correct=right(72 + seed)) for seed in (0, 1)),
        result(system="soft", correct=right(50)),
        result("g2p/CMUDict"),
        result("toy:copy"),
    )
    path = write_report(tmp_path)
    text = path.read_text("utf-8")
    assert "Runs: 5 complete, 0 failed, 0 unfinished." in text
    assert "| mean of 2 of 2 | hard | 4 | 1 | 29.6 | 26.2 | -3.4 |" in text
    assert "| toy:copy | hard | 4 | 1 | – | 75.0 | – |" in text
    assert "| soft |  | -22.5\\* |" in text
    assert "1,133 of its 11,121 distinct test words" in text
    # A second report is of the same runs, not of the first report, to the byte.
    assert write_report(tmp_path).read_text("utf-8") == text


def test_failed_and_unfinished_runs_are_told(tmp_path: Path) -> None:
    failed, unfinished = Run("g2p/NETtalk", "hard"), Run("g2p/NETtalk", "soft")
    for run in (failed, unfinished):
        prepare(tmp_path, run)
    write_failure(tmp_path / failed.name, "out of memory_\n<b>")
    text = write_report(tmp_path).read_text("utf-8")
    assert "Runs: 0 complete, 1 failed, 1 unfinished." in text
    assert "- failed: g2p-NETtalk.hard.small.0: out of memory\\_ \\<b\\> (attempt 1)" in text


def test_data_of_ones_own(tmp_path: Path) -> None:
    write(tmp_path, *(result("mine", system=name, correct=right(50)) for name in ("hard", "soft")))
    text = write_report(tmp_path).read_text("utf-8")
    assert "mean of" not in text
    assert "| mine | soft |" in text


def test_no_folder_and_no_runs(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="no such folder"):
        write_report(tmp_path / "nowhere")
    with pytest.raises(HardalignError, match="has no runs"):
        write_report(tmp_path)
    assert not list(tmp_path.iterdir())
