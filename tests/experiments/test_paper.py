from __future__ import annotations

import pytest

from hardalign.data.corpora import registry
from hardalign.experiments import report
from hardalign.experiments.report import (
    ACC,
    G2P,
    INFLECTION,
    METRICS,
    OTHER,
    PER,
    SIZES,
    TRANSLITERATION,
    WER,
    in_order,
    paper_corpora,
    paper_name,
    published,
    remarks,
    task_of,
)
from hardalign.systems import SYSTEMS
from results import published_accuracy

SEVEN = (
    *("soft-feed", "soft-feed-large", "hard-feed", "soft", "hard", "hard-sampled"),
    "monotonic",
)
TASKS = {G2P: 2, TRANSLITERATION: 11, INFLECTION: 51}


def test_figures() -> None:
    """Some of the paper's tables, read by eye."""
    assert published("g2p/CMUDict", "small", "soft-feed", WER) == 36.2
    assert published("g2p/NETtalk", "small", "hard", PER) == 0.073
    assert published("conll2017/danish", "small", "monotonic", ACC) == 92.6


@pytest.mark.parametrize(("task", "count"), TASKS.items())
def test_complete(task: str, count: int) -> None:
    corpora = paper_corpora(task)
    assert len(corpora) == count
    assert set(corpora) <= set(registry())
    assert {task_of(corpus) for corpus in corpora} == {task}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("size", SIZES)
def test_averages_are_those_of_the_breakdown(task: str, size: str) -> None:
    corpora = paper_corpora(task)
    for system in SEVEN:
        for metric in METRICS[task]:
            values = [published(corpus, size, system, metric) for corpus in corpora]
            average = report._figures()[task, "average", size, paper_name(system), metric.name]
            known = [value for value in values if value is not None]
            assert len(known) == len(corpora)
            # Both were rounded, so they may be one last digit apart.
            assert sum(known) / len(known) == pytest.approx(
                average, abs=1.01 * 10**-metric.decimals
            )


def test_accuracy_is_what_wer_leaves() -> None:
    assert published_accuracy("g2p/NETtalk", "small", "hard") == pytest.approx(71.2)
    assert published_accuracy("conll2017/danish", "small", "hard") == 90.2


def test_without_figure() -> None:
    assert published("toy:copy", "small", "hard", ACC) is None
    assert published_accuracy("wikidata-names/korean", "small", "hard") is None
    assert published("g2p/NETtalk", "small", "hard", ACC) is None


def test_tasks_of_other_corpora() -> None:
    assert task_of("cmudict") == task_of("sigmorphon2021-g2p/gre") == G2P
    assert task_of("wikidata-names/korean") == TRANSLITERATION
    assert task_of("toy:copy") == task_of("somebody's own") == OTHER


def test_order() -> None:
    """As in the paper's main table, what is new after that."""
    names = [SYSTEMS[system].paper for system in in_order(SYSTEMS)]
    assert "".join(dict.fromkeys(names))[:7] == "1U234RM"
    assert [paper_name(system) for system in SEVEN] == list("1U234RM")
    assert paper_name("hard-feed-reinforce") == "2"
    assert paper_name("hard-hmm") is paper_name("zebra") is None
    assert in_order(["zebra", "hard", "soft-feed", "ape"]) == ["soft-feed", "hard", "ape", "zebra"]


def test_remarks() -> None:
    assert remarks(["conll2017/danish"]) == []
    (split,) = remarks(["g2p/NETtalk", "g2p/CMUDict"])
    assert "1,133 of its 11,121" in split
    assert "development part" in remarks(["news15/EnHi", "news15/EnKo"])[0]
