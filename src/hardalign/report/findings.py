"""The five findings of the paper, as claims that runs can decide, and what the runs at hand say.

A claim is supported (or contradicted) only where there is enough evidence: runs of both systems on
the paper's data by the paper's recipe, trained to its end; a difference over all of their test
words that other words would show as well; and at least ``SEEDS`` seeds of both systems on some
data set, whose difference other seeds would show as well.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hardalign.report.cells import Cells, Setting, differences
from hardalign.report.markup import MISSING, Table, number
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
class Claim:
    """One system is said to be better than another."""

    better: str
    worse: str
    differs: str
    """What the comparison holds equal or changes, in a few words."""


@dataclass(frozen=True)
class Finding:
    """What the paper found, and the claims that it consists of."""

    title: str
    statement: str
    claims: tuple[Claim, ...]


FINDINGS = (
    Finding(
        "Input feeding hurts",
        "Systems 3 and 4 are better than 1 and 2, in all settings and all tasks.",
        (
            Claim("soft", "soft-feed", "input feeding; soft attention, equally large"),
            Claim("hard", "hard-feed-reinforce", "input feeding, and REINFORCE instead of the sum"),
            Claim("hard-sampled", "hard-feed-reinforce", "input feeding; both by REINFORCE"),
            Claim("hard", "hard-feed", "input feeding, trained by a particle filter's bound"),
        ),
    ),
    Finding(
        "Hard attention beats soft attention",
        "4 is better than 3 when trained exactly; trained by REINFORCE, hard attention is worse "
        "(2 than 1).",
        (
            Claim("hard", "soft", "attention; both trained exactly"),
            Claim("soft-feed", "hard-feed-reinforce", "attention, with input feeding; REINFORCE"),
        ),
    ),
    Finding(
        "Non-monotonic beats monotonic",
        "The monotonic M is worse than the non-monotonic 3 (and 4).",
        (
            Claim("soft", "monotonic", "monotonic hard attention instead of soft attention"),
            Claim("hard", "monotonic", "monotonicity; hard attention both"),
        ),
    ),
    Finding(
        "Exact marginalisation beats REINFORCE",
        "4 is better than R, in every setting and on every data set.",
        (Claim("hard", "hard-sampled", "training; the same model"),),
    ),
    Finding(
        "Parameters, not input feeding, explain its success",
        "U, with more parameters, is better than 1; at equal size, input feeding (1) does not "
        "help (3).",
        (
            Claim("soft-feed-large", "soft-feed", "more parameters; both with input feeding"),
            Claim("soft", "soft-feed", "input feeding; equally large"),
        ),
    ),
)


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
    """Tests the claims of a finding on all data sets of the paper's tasks that have the runs.

    Returns the verdict on the finding, and those on its claims.
    """
    gathered = {claim: _evidence(claim, cells) for claim in finding.claims}
    evidence = {claim: items for claim, items in gathered.items() if items is not None}
    p_words = holm({claim: items.words.p for claim, items in evidence.items()})
    p_seeds = holm({claim: items.seeds.p for claim, items in evidence.items() if items.seeds})
    decisions = []
    for claim in finding.claims:
        if claim in evidence:
            grounds = evidence[claim], p_words[claim], p_seeds.get(claim)
            decisions.append(Decision(claim, _verdict(*grounds), *grounds))
        else:
            decisions.append(Decision(claim))
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


def _verdict(evidence: Evidence, p_words: float, p_seeds: float | None) -> Verdict:
    if p_words >= LEVEL:
        return "not significant"
    if evidence.seeds is None or p_seeds is None:
        return "too few seeds"
    better = evidence.words.difference > 0
    if p_seeds >= LEVEL or better != (evidence.seeds.difference > 0):
        return "not significant"
    return "supported" if better else "contradicted"


def _together(verdicts: Iterable[Verdict]) -> Verdict:
    """Returns the verdict on a finding from those on its claims, as far as there are runs."""
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


HEADER = (
    "Said to be better",
    "Than",
    "What differs",
    "Verdict",
    "Data sets",
    "Better in",
    "Items",
    "Points of accuracy",
    "95% interval",
    "p, words",
    "p, seeds",
    "Paper's points",
)


def verdict_table(decided: Iterable[tuple[Finding, Verdict, list[Decision]]]) -> Table:
    """Returns a row for each finding, to be seen at a glance."""
    rows: list[tuple[str, ...]] = []
    for index, (finding, verdict, decisions) in enumerate(decided, start=1):
        counts = Counter(decision.verdict for decision in decisions)
        claims = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        rows.append((f"{index}. {finding.title}", verdict, claims))
    header = ("Finding", "Verdict", "Its claims")
    return Table("The five findings of the paper, by the runs at hand", header, rows, 3)


def evidence_table(finding: Finding, decisions: list[Decision]) -> Table:
    """Returns the claims of one finding with the numbers that decide them.

    "Better in" counts combinations of data set and size.
    """
    rows = [_row(decision) for decision in decisions]
    return Table(f"{finding.title}. The paper: {finding.statement}", HEADER, rows, 4)


def _row(decision: Decision) -> tuple[str, ...]:
    claim, evidence = decision.claim, decision.evidence
    names = claim.better, claim.worse, claim.differs, decision.verdict
    if evidence is None:
        return (*names, "0", *[MISSING] * (len(HEADER) - 5))
    words = evidence.words
    return (
        *names,
        str(evidence.corpora),
        f"{evidence.better_in} of {evidence.settings}",
        f"{words.items:,}",
        number(words.difference, 2, sign=True),
        f"{number(words.low, 2, sign=True)} to {number(words.high, 2, sign=True)}",
        number(decision.p_words, 4),
        number(decision.p_seeds, 4),
        number(evidence.paper, 2, sign=True),
    )
