"""The five findings of the paper, each decided by the runs at hand."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hardalign.report.cells import Cells, Setting, differences
from hardalign.report.paper import OTHER, TASKS, published_accuracy
from hardalign.report.significance import LEVEL, Comparison, Floats, compare, holm

Verdict = Literal[
    "supported",
    "supported in part",
    "mixed",
    "contradicted",
    "not significant",
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
    """What the paper found, as claims that runs can decide."""

    title: str
    statement: str
    claims: tuple[Claim, ...]


FINDINGS = (
    Finding(
        "Input feeding hurts",
        "Systems 3 and 4 are better than 1 and 2, in all settings and all tasks.",
        (
            Claim("soft", "soft-feed", "input feeding; soft attention, equally large"),
            Claim("hard", "hard-feed", "input feeding, and REINFORCE instead of exact training"),
            Claim("hard-sampled", "hard-feed", "input feeding; both trained by REINFORCE"),
        ),
    ),
    Finding(
        "Hard attention beats soft attention",
        "4 is better than 3 when trained exactly; trained by REINFORCE, hard attention is worse "
        "(2 than 1).",
        (
            Claim("hard", "soft", "attention; both trained exactly"),
            Claim(
                "soft-feed",
                "hard-feed",
                "attention, with input feeding; hard is trained by REINFORCE",
            ),
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
    """What some settings say about a claim."""

    where: str
    corpora: int
    settings: int
    better_in: int
    """Settings in which the system said to be better is."""
    paper: float | None
    """The paper's own difference in the same settings, in points of accuracy; None if it has no
    figures for any of them."""
    test: Comparison


@dataclass(frozen=True)
class Decision:
    """What the runs at hand say about a claim."""

    claim: Claim
    verdict: Verdict
    p: float | None = None
    """Corrected for the claims of the same finding, by Holm's method."""
    overall: Evidence | None = None
    parts: tuple[Evidence, ...] = ()
    """The same by task and size, where there is more than one of these."""


def decide(finding: Finding, cells: Cells) -> tuple[Verdict, list[Decision]]:
    """Test the claims of a finding on all data sets of the paper's tasks that have the runs."""
    paired = [_paired(claim, cells) for claim in finding.claims]
    overall = [
        _evidence("all", claim, one)
        for claim, one in zip(finding.claims, paired, strict=True)
        if one
    ]
    adjusted = iter(zip(overall, holm([one.test.p for one in overall]), strict=True))
    decisions = []
    for claim, one in zip(finding.claims, paired, strict=True):
        if not one:
            decisions.append(Decision(claim, "no runs at hand"))
            continue
        evidence, p = next(adjusted)
        places = list(dict.fromkeys(map(_place, one)))
        parts = tuple(
            _evidence(place, claim, {s: items for s, items in one.items() if _place(s) == place})
            for place in (places if len(places) > 1 else ())
        )
        decisions.append(Decision(claim, _verdict(evidence, p), p, evidence, parts))
    return _together([decision.verdict for decision in decisions]), decisions


def _paired(claim: Claim, cells: Cells) -> dict[Setting, Floats]:
    """The differences of items, in every setting that has comparable runs of both systems."""
    found = {}
    for setting, systems in cells.items():
        if setting.task == OTHER or not {claim.better, claim.worse} <= systems.keys():
            continue
        items = differences(systems[claim.better], systems[claim.worse])
        if items is not None:
            found[setting] = items
    return found


def _evidence(where: str, claim: Claim, paired: dict[Setting, Floats]) -> Evidence:
    paper = [d for s in paired if (d := _paper_difference(s, claim)) is not None]
    return Evidence(
        where,
        corpora=len({setting.corpus for setting in paired}),
        settings=len(paired),
        better_in=sum(bool(items.mean() > 0) for items in paired.values()),
        paper=statistics.fmean(paper) if paper else None,
        test=compare(list(paired.values())),
    )


def _paper_difference(setting: Setting, claim: Claim) -> float | None:
    better = published_accuracy(setting.corpus, setting.size, claim.better)
    worse = published_accuracy(setting.corpus, setting.size, claim.worse)
    return None if better is None or worse is None else better - worse


def _place(setting: Setting) -> str:
    return f"{TASKS[setting.task]}, {setting.size}"


def _verdict(evidence: Evidence, p: float) -> Verdict:
    if p >= LEVEL:
        return "not significant"
    return "supported" if evidence.test.difference > 0 else "contradicted"


def _together(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a finding: of its claims, as far as there are runs."""
    found = set(verdicts) - {"no runs at hand"}
    if not found:
        return "no runs at hand"
    if len(found) == 1:
        return found.pop()
    if {"supported", "contradicted"} <= found:
        return "mixed"
    return "supported in part" if "supported" in found else "contradicted"
