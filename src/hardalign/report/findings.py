"""What the runs at hand say about the findings of the paper.

A claim is supported (or contradicted) only where there is enough evidence: runs of both systems on
the paper's data by the paper's recipe, trained to its end; a difference over all of their test
words that other words would show as well; and at least ``SEEDS`` seeds of both systems on some
data set, whose difference other seeds would show as well.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hardalign.report.cells import Cell, Cells, Setting, differences, paired
from hardalign.report.claims import Claim, Finding
from hardalign.report.paper import TASKS, published_accuracy
from hardalign.report.significance import (
    LEVEL,
    Comparison,
    SeedComparison,
    compare,
    compare_seeds,
    holm,
)

SEEDS = 3
"""How many runs of both systems it takes to speak about other seeds."""

Verdict = Literal[
    "supported",
    "supported in part",
    "mixed",
    "contradicted",
    "not significant",
    "too few seeds",
    "no runs at hand",
]


@dataclass(frozen=True)
class Evidence:
    """What some settings say about a claim."""

    where: str
    corpora: int
    settings: int
    better_in: int
    """Settings in which the system said to be better is."""
    paper: float | None
    """The paper's own difference in the same settings, in points of accuracy; None if it has no
    figures for any of them."""
    words: Comparison
    seeds: SeedComparison | None
    """Over the settings with at least ``SEEDS`` seeds of both; None if there are none."""


@dataclass(frozen=True)
class Decision:
    """What the runs at hand say about a claim."""

    claim: Claim
    verdict: Verdict = "no runs at hand"
    p: float | None = None
    p_seeds: float | None = None
    """Both corrected for the claims of the same finding, by Holm's method."""
    overall: Evidence | None = None
    parts: tuple[Evidence, ...] = ()
    """The same by task and size, where there is more than one of these."""


def decide(finding: Finding, cells: Cells) -> tuple[Verdict, list[Decision]]:
    """Test the claims of a finding on all data sets of the paper's tasks that have the runs."""
    evidence = {claim: _gather(claim, cells) for claim in finding.claims}
    overall = {claim: parts[0] for claim, parts in evidence.items() if parts}
    p_words = _holm({claim: one.words.p for claim, one in overall.items()})
    p_seeds = _holm({claim: one.seeds.p for claim, one in overall.items() if one.seeds})
    decisions = []
    for claim, parts in evidence.items():
        if parts:
            verdict = _verdict(parts[0], p_words[claim], p_seeds.get(claim))
            found = p_words[claim], p_seeds.get(claim), parts[0], tuple(parts[1:])
            decisions.append(Decision(claim, verdict, *found))
        else:
            decisions.append(Decision(claim))
    return _together([decision.verdict for decision in decisions]), decisions


def _gather(claim: Claim, cells: Cells) -> list[Evidence]:
    """Returns the evidence of all settings, and of each task and size if there are several."""
    both = {
        setting: pair
        for setting, pair in paired(cells, claim.better, claim.worse).items()
        if differences(*pair) is not None
    }
    if not both:
        return []
    places: dict[str, dict[Setting, tuple[Cell, Cell]]] = {}
    for setting, pair in both.items():
        places.setdefault(f"{TASKS[setting.task]}, {setting.size}", {})[setting] = pair
    parts = places if len(places) > 1 else {}
    return [_evidence(where, claim, one) for where, one in {"all": both, **parts}.items()]


def _evidence(where: str, claim: Claim, both: dict[Setting, tuple[Cell, Cell]]) -> Evidence:
    items = [found for pair in both.values() if (found := differences(*pair)) is not None]
    paper = [d for setting in both if (d := _paper_difference(setting, claim)) is not None]
    several = [
        (first.accuracies, second.accuracies)
        for first, second in both.values()
        if min(len(first.results), len(second.results)) >= SEEDS
    ]
    return Evidence(
        where,
        corpora=len({setting.corpus for setting in both}),
        settings=len(both),
        better_in=sum(bool(one.mean() > 0) for one in items),
        paper=statistics.fmean(paper) if paper else None,
        words=compare(items),
        seeds=compare_seeds(several) if several else None,
    )


def _paper_difference(setting: Setting, claim: Claim) -> float | None:
    better = published_accuracy(setting.corpus, setting.size, claim.better)
    worse = published_accuracy(setting.corpus, setting.size, claim.worse)
    return None if better is None or worse is None else better - worse


def _holm(values: dict[Claim, float]) -> dict[Claim, float]:
    return dict(zip(values, holm(list(values.values())), strict=True))


def _verdict(evidence: Evidence, p: float, p_seeds: float | None) -> Verdict:
    if p >= LEVEL:
        return "not significant"
    if evidence.seeds is None or p_seeds is None:
        return "too few seeds"
    better = evidence.words.difference > 0
    if p_seeds >= LEVEL or better != (evidence.seeds.difference > 0):
        return "not significant"
    return "supported" if better else "contradicted"


def _together(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a finding: of its claims, as far as there are runs."""
    found = set(verdicts) - {"no runs at hand"}
    if not found:
        return "no runs at hand"
    if len(found) == 1:
        return found.pop()
    if {"supported", "contradicted"} <= found:
        return "mixed"
    for verdict, together in _STRONGEST.items():
        if verdict in found:
            return together
    raise AssertionError(found)


_STRONGEST: dict[Verdict, Verdict] = {
    "supported": "supported in part",
    "contradicted": "contradicted",
    "too few seeds": "too few seeds",
}
