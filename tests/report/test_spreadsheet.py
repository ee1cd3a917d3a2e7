from __future__ import annotations

import csv

from hardalign.report.cells import collect
from hardalign.report.pairwise import squares
from hardalign.report.spreadsheet import pairs_csv, results_csv
from report.synthetic import result, right


def test_runs_have_all_metrics() -> None:
    cells = collect([result(seed=seed, correct=right(70 + seed)) for seed in (0, 1)])
    rows = list(csv.DictReader(results_csv(cells).splitlines()))
    assert [row["metric"] for row in rows] == ["ACC", "WER", "PER", "MFS", "MLD"]
    accuracy, wer, *_ = rows
    assert (wer["paper"], wer["ours"], wer["sd"], wer["difference"]) == (
        "28.8",
        "29.5",
        "0.707107",
        "0.7",
    )
    assert (wer["seeds"], wer["items"], wer["epochs"]) == ("0 1", "100", "10.5")
    assert (accuracy["paper"], accuracy["ours"], accuracy["difference"]) == ("", "70.5", "")


def test_other_recipes_do_not_stand_for_the_paper_s() -> None:
    cells = collect([result(), result(epochs=1)])
    rows = list(csv.DictReader(results_csv(cells).splitlines()))
    assert [row["overrides"] for row in rows] == [""] * 5 + ["epochs=1"] * 5
    assert results_csv({}) == ""


def test_pairs() -> None:
    cells = collect([result(correct=right(80)), result(system="soft", correct=right(70))])
    (row,) = csv.DictReader(pairs_csv(squares(cells)).splitlines())
    assert (row["first"], row["second"], row["points"], row["items"]) == (
        "soft",
        "hard",
        "-10",
        "100",
    )
    assert float(row["low"]) < -10 < float(row["high"]) < 0
    assert float(row["p"]) == float(row["p_holm"]) < 0.05
