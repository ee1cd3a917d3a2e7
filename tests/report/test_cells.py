from __future__ import annotations

from dataclasses import replace

import pytest

from hardalign.report.cells import Setting, average, collect, differences
from hardalign.report.paper import ACC, PER
from report.synthetic import result, right


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


def test_the_batch_size_of_the_task_is_no_other_recipe() -> None:
    cells = collect([result("news15/EnHi", batch_size=50), result("news15/EnHi", batch_size=20)])
    assert [setting.overrides for setting in cells] == ["", "batch_size=20"]
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
    assert (average([cell], ACC)[0], cell.accuracies) == (77.5, [75, 80])
    found = differences(cell, systems["soft"])
    assert found is not None
    assert found.tolist() == [0, 0, 0, 0]
    (systems,) = collect([old, result(system="soft")]).values()
    assert differences(systems["hard"], systems["soft"]) is None
