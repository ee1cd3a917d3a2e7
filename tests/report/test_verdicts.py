from __future__ import annotations

from hardalign.report.cells import collect
from hardalign.report.claims import FINDINGS
from hardalign.report.findings import decide
from hardalign.report.verdicts import HEADER, evidence_table, verdict_table
from report.synthetic import result, right


def test_tables() -> None:
    results = [
        result(corpus, system, correct=right(count))
        for corpus in ("g2p/NETtalk", "conll2017/danish")
        for system, count in (("soft", 90), ("soft-feed", 70))
    ]
    cells = collect(results)
    finding = FINDINGS[0]
    verdict, decisions = decide(finding, cells)
    table = evidence_table(finding, decisions)
    all_of_it, g2p, inflection, missing, _ = (
        dict(zip(HEADER, row, strict=True)) for row in table.rows
    )
    assert (all_of_it["Said to be better"], all_of_it["Than"]) == ("soft", "soft-feed")
    assert (all_of_it["Verdict"], all_of_it["Better in"]) == ("supported", "2 of 2")
    assert all_of_it["Points of accuracy"] == "+20.00"
    assert all_of_it["Paper's points"] == "+0.80"  # 1.4 and 0.2
    assert g2p["Where"] == "Grapheme-to-phoneme conversion, small"
    assert (inflection["Data sets"], inflection["Paper's points"]) == ("1", "+0.20")
    assert (missing["Than"], missing["Verdict"], missing["p"]) == (
        "hard-feed",
        "no runs at hand",
        "–",
    )

    summary = verdict_table([(finding, verdict, decisions)])
    assert summary.rows == [
        ("1. Input feeding hurts", "supported", "1 supported, 2 no runs at hand")
    ]
