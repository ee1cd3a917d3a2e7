from __future__ import annotations

from hardalign.report.cells import collect
from hardalign.report.claims import FINDINGS
from hardalign.report.findings import SEEDS, decide
from hardalign.report.verdicts import HEADER, evidence_table, verdict_table
from report.synthetic import result, right


def test_tables() -> None:
    results = [
        result(corpus, system, seed=seed, correct=right(count))
        for corpus in ("g2p/NETtalk", "conll2017/danish")
        for system, count in (("soft", 90), ("soft-feed", 70))
        for seed in range(SEEDS)
    ]
    finding = FINDINGS[0]
    verdict, decisions = decide(finding, collect(results))
    table = evidence_table(finding, decisions)
    soft, missing, *_ = (dict(zip(HEADER, row, strict=True)) for row in table.rows)
    assert len(table.rows) == len(finding.claims)
    assert (soft["Said to be better"], soft["Than"]) == ("soft", "soft-feed")
    assert (soft["Verdict"], soft["Better in"], soft["Data sets"]) == ("supported", "2 of 2", "2")
    assert soft["Points of accuracy"] == "+20.00"
    assert soft["Paper's points"] == "+0.80"  # 1.4 and 0.2
    assert (soft["p, words"], soft["p, seeds"]) == ("0.0001", "0.0001")
    assert (missing["Verdict"], missing["p, words"]) == ("no runs at hand", "–")

    summary = verdict_table([(finding, verdict, decisions)])
    assert summary.rows == [
        ("1. Input feeding hurts", "supported", "1 supported, 3 no runs at hand")
    ]
