"""The paper's findings as tables: what was decided, and by which numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hardalign.report.claims import Finding
from hardalign.report.findings import Decision, Verdict
from hardalign.report.markup import MISSING, Table, number

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
    """All findings at a glance."""
    rows: list[tuple[str, ...]] = []
    for index, (finding, verdict, decisions) in enumerate(decided, start=1):
        counts = Counter(decision.verdict for decision in decisions)
        claims = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        rows.append((f"{index}. {finding.title}", verdict, claims))
    header = ("Finding", "Verdict", "Its claims")
    return Table("The five findings of the paper, by the runs at hand", header, rows, 3)


def evidence_table(finding: Finding, decisions: list[Decision]) -> Table:
    """The claims of one finding with the numbers that decide them.

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
