"""The paper's findings as tables: what was decided, and by which numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hardalign.report.claims import Finding
from hardalign.report.findings import Decision, Evidence, Verdict
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
    "p, words",
    "p, seeds",
    "Paper's points",
)


def verdict_table(decided: Iterable[tuple[Finding, Verdict, list[Decision]]]) -> Table:
    """All findings at a glance."""
    rows: list[tuple[str, ...]] = []
    for index, (finding, verdict, decisions) in enumerate(decided, start=1):
        counts = Counter(decision.verdict for decision in decisions)
        claims = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        rows.append((f"{index}. {finding.title}", verdict, claims))
    header = ("Finding", "Verdict", "Its claims")
    return Table("The five findings of the paper, by the runs at hand", header, rows, 3)


def evidence_table(finding: Finding, decisions: list[Decision]) -> Table:
    """The claims of one finding with the numbers that decide them, then the same by task and size.

    "Better in" counts combinations of data set and size.
    """
    rows: list[tuple[str, ...]] = []
    for decision in decisions:
        claim, overall = decision.claim, decision.overall
        names = claim.better, claim.worse, claim.differs
        if overall is None:
            rows.append((*names, MISSING, decision.verdict, "0", *[MISSING] * (len(HEADER) - 6)))
            continue
        p = number(decision.p, 4), number(decision.p_seeds, 4)
        rows.append((*names, "all", decision.verdict, *_numbers(overall, p)))
        parts = decision.parts
        rows += [("", "", "", part.where, "", *_numbers(part, ("", ""))) for part in parts]
    return Table(f"{finding.title}. The paper: {finding.statement}", HEADER, rows, 5)


def _numbers(evidence: Evidence, p: tuple[str, str]) -> tuple[str, ...]:
    words = evidence.words
    return (
        str(evidence.corpora),
        f"{evidence.better_in} of {evidence.settings}",
        f"{words.items:,}",
        number(words.difference, 2, sign=True),
        f"{number(words.low, 2, sign=True)} to {number(words.high, 2, sign=True)}",
        *p,
        number(evidence.paper, 2, sign=True),
    )
