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

from hardalign.report.cells import Cells, Setting, differences
from hardalign.report.claims import Claim, Finding
from hardalign.report.paper import published_accuracy
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
    """What the runs at hand say about a claim, over all settings with runs of both systems."""

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
    """The verdict on a claim."""

    claim: Claim
    verdict: Verdict = "no runs at hand"
    evidence: Evidence | None = None
    p_words: float | None = None
    p_seeds: float | None = None
    """Both corrected for the claims of the same finding, by Holm's method."""


def decide(finding: Finding, cells: Cells) -> tuple[Verdict, list[Decision]]:
    """Test the claims of a finding on all data sets of the paper's tasks that have the runs."""
    gathered = {claim: _evidence(claim, cells) for claim in finding.claims}
    evidence = {claim: one for claim, one in gathered.items() if one is not None}
    p_words = holm({claim: one.words.p for claim, one in evidence.items()})
    p_seeds = holm({claim: one.seeds.p for claim, one in evidence.items() if one.seeds})
    decisions = [
        Decision(
            claim,
            _verdict(evidence[claim], p_words[claim], p_seeds.get(claim)),
            evidence[claim],
            p_words[claim],
            p_seeds.get(claim),
        )
        if claim in evidence
        else Decision(claim)
        for claim in finding.claims
    ]
    return _together([decision.verdict for decision in decisions]), decisions


def _evidence(claim: Claim, cells: Cells) -> Evidence | None:
    both = {}
    for setting, systems in cells.items():
        if setting.is_the_papers and {claim.better, claim.worse} <= systems.keys():
            pair = systems[claim.better], systems[claim.worse]
            if (items := differences(*pair)) is not None:
                both[setting] = items, pair
    if not both:
        return None
    paper = [d for setting in both if (d := _paper_difference(setting, claim)) is not None]
    several = [
        (first.accuracies, second.accuracies)
        for _, (first, second) in both.values()
        if min(len(first.results), len(second.results)) >= SEEDS
    ]
    return Evidence(
        corpora=len({setting.corpus for setting in both}),
        settings=len(both),
        better_in=sum(bool(items.mean() > 0) for items, _ in both.values()),
        paper=statistics.fmean(paper) if paper else None,
        words=compare([items for items, _ in both.values()]),
        seeds=compare_seeds(several) if several else None,
    )


def _paper_difference(setting: Setting, claim: Claim) -> float | None:
    better = published_accuracy(setting.corpus, setting.size, claim.better)
    worse = published_accuracy(setting.corpus, setting.size, claim.worse)
    return None if better is None or worse is None else better - worse


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
    decided = set(verdicts) - {"no runs at hand"}
    if not decided:
        return "no runs at hand"
    if len(decided) == 1:
        return decided.pop()
    if {"supported", "contradicted"} <= decided:
        return "mixed"
    if "supported" in decided:
        return "supported in part"
    return "contradicted" if "contradicted" in decided else "too few seeds"
