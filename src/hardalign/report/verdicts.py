"""The paper's findings as tables: what was decided, and by which numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hardalign.report.findings import Decision, Evidence, Finding, Verdict
from hardalign.report.markup import MISSING, Table, number

HEADER = (
    "Said to be better",
    "Than",
    "What differs",
    "Where",
    "Verdict",
    "Data sets",
    "Better in",
    "Items",
    "Points of accuracy",
    "95% interval",
    "p",
    "Paper's points",
)


def verdict_table(decided: Iterable[tuple[Finding, Verdict, list[Decision]]]) -> Table:
    """All findings at a glance."""
    rows: list[tuple[str, ...]] = [
        (f"{index}. {finding.title}", verdict, _count(decisions))
        for index, (finding, verdict, decisions) in enumerate(decided, start=1)
    ]
    header = ("Finding", "Verdict", "Its claims")
    return Table("The five findings of the paper, by the runs at hand", header, rows, 3)


def evidence_table(finding: Finding, decisions: list[Decision]) -> Table:
    """The claims of one finding with the numbers that decide them, then the same by task and size.

    "Better in" counts combinations of data set and size.
    """
    rows: list[tuple[str, ...]] = []
    for decision in decisions:
        claim, found = decision.claim, decision.overall
        names = claim.better, claim.worse, claim.differs
        if found is None:
            rows.append((*names, MISSING, decision.verdict, "0", *[MISSING] * (len(HEADER) - 6)))
            continue
        rows.append((*names, "all", decision.verdict, *_numbers(found, number(decision.p, 4))))
        rows += [("", "", "", part.where, "", *_numbers(part, "")) for part in decision.parts]
    return Table(f"{finding.title}. The paper: {finding.statement}", HEADER, rows, 5)


def _count(decisions: list[Decision]) -> str:
    counts = Counter(decision.verdict for decision in decisions)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def _numbers(evidence: Evidence, p: str) -> tuple[str, ...]:
    test = evidence.test
    return (
        str(evidence.corpora),
        f"{evidence.better_in} of {evidence.settings}",
        f"{test.items:,}",
        number(test.difference, 2, sign=True),
        f"{number(test.low, 2, sign=True)} to {number(test.high, 2, sign=True)}",
        p,
        number(evidence.paper, 2, sign=True),
    )
