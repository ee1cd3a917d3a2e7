from __future__ import annotations

import pytest

from hardalign.report.cells import collect
from hardalign.report.findings import (
    FINDINGS,
    HEADER,
    SEEDS,
    Decision,
    Finding,
    Verdict,
    decide,
    evidence_table,
    verdict_table,
)
from hardalign.report.paper import paper_name
from report.synthetic import result, right

FEEDING, HARD, MONOTONIC, EXACT, PARAMETERS = FINDINGS


def of(finding: Finding, seeds: int = SEEDS, **right_of_100: int) -> tuple[Verdict, list[Decision]]:
    """Decide a finding by how many of 100 words of NETtalk systems have right with every seed."""
    systems = {name.replace("_", "-"): count for name, count in right_of_100.items()}
    return decide(
        finding,
        collect(
            result(system=name, seed=seed, correct=right(count))
            for name, count in systems.items()
            for seed in range(seeds)
        ),
    )


def test_claims_are_about_systems() -> None:
    names = {name for f in FINDINGS for claim in f.claims for name in (claim.better, claim.worse)}
    assert {paper_name(name) for name in names} >= set("1U234RM")


@pytest.mark.parametrize(
    ("hard", "sampled", "verdict"),
    [(80, 60, "supported"), (60, 80, "contradicted"), (71, 70, "not significant")],
)
def test_one_claim(hard: int, sampled: int, verdict: Verdict) -> None:
    together, (decision,) = of(EXACT, hard=hard, hard_sampled=sampled)
    assert together == decision.verdict == verdict
    evidence = decision.evidence
    assert evidence is not None
    assert evidence.words.difference == pytest.approx(hard - sampled)
    assert evidence.paper == pytest.approx(1.5)  # 28.8 and 30.3 WER
    assert evidence.better_in == (hard > sampled)
    assert (evidence.corpora, evidence.words.items) == (1, 100)


@pytest.mark.parametrize("seeds", range(1, SEEDS))
def test_few_seeds_support_nothing(seeds: int) -> None:
    together, (decision,) = of(EXACT, seeds, hard=90, hard_sampled=10)
    assert together == decision.verdict == "too few seeds"
    assert decision.p_words is not None
    assert decision.p_words < 0.001
    assert decision.p_seeds is None


def test_short_runs_support_nothing() -> None:
    results = [
        result(system=system, seed=seed, correct=right(count), epochs=2)
        for system, count in (("hard", 90), ("hard-sampled", 10))
        for seed in range(SEEDS)
    ]
    assert decide(EXACT, collect(results))[0] == "no runs at hand"


def test_a_difference_that_seeds_make_is_none() -> None:
    """20 points apart on average, but up to 30 from seed to seed."""
    results = [
        result(system=system, seed=seed, correct=right(mean + spread * (seed - 1)))
        for system, mean, spread in (("hard", 70, 30), ("hard-sampled", 50, 20))
        for seed in range(SEEDS)
    ]
    together, (decision,) = decide(EXACT, collect(results))
    assert together == "not significant"
    assert decision.p_words is not None
    assert decision.p_seeds is not None
    assert decision.p_words < 0.05 < decision.p_seeds


def test_no_runs_at_hand() -> None:
    together, decisions = of(FEEDING, hard=80)
    assert together == "no runs at hand"
    assert {decision.verdict for decision in decisions} == {"no runs at hand"}


@pytest.mark.parametrize(
    ("corpus", "items"), [("toy:copy", ["same", "same"]), ("g2p/NETtalk", ["old", "new"])]
)
def test_toys_and_other_items_are_no_evidence(corpus: str, items: list[str]) -> None:
    results = [
        result(corpus, system, items=one, correct=right(n))
        for (system, n), one in zip((("hard", 80), ("hard-sampled", 20)), items, strict=True)
    ]
    assert decide(EXACT, collect(results))[0] == "no runs at hand"


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ({"soft": 80, "soft_feed": 60, "hard": 80, "hard_feed": 60}, "supported"),
        ({"soft": 80, "soft_feed": 60}, "supported"),
        ({"soft": 80, "soft_feed": 60, "hard": 71, "hard_feed": 70}, "supported in part"),
        ({"soft": 80, "soft_feed": 60, "hard": 60, "hard_feed": 80}, "mixed"),
        ({"soft": 70, "soft_feed": 71, "hard": 60, "hard_feed": 80}, "contradicted"),
        ({"soft": 70, "soft_feed": 70, "hard": 71, "hard_feed": 70}, "not significant"),
    ],
)
def test_several_claims(counts: dict[str, int], verdict: Verdict) -> None:
    assert of(FEEDING, **counts)[0] == verdict


def test_p_is_corrected_for_the_claims_of_a_finding() -> None:
    """Six words apart: p is 2/64 alone, and twice that beside another claim."""
    assert of(MONOTONIC, soft=76, monotonic=70)[0] == "supported"
    together, decisions = of(MONOTONIC, soft=76, hard=76, monotonic=70)
    assert together == "not significant"
    for decision in decisions:
        assert decision.p_words == pytest.approx(2 * 2 / 64, abs=0.01)


def test_every_data_set_and_size_counts_the_same() -> None:
    results = [
        result(corpus, system, size, correct=right(count))
        for corpus, size, hard in (
            ("g2p/NETtalk", "small", 80),
            ("g2p/CMUDict", "small", 70),
            ("g2p/CMUDict", "large", 65),
            ("conll2017/danish", "small", 50),
        )
        for system, count in (("hard", hard), ("hard-sampled", 60))
    ]
    _, (decision,) = decide(EXACT, collect(results))
    evidence = decision.evidence
    assert evidence is not None
    assert (evidence.corpora, evidence.settings, evidence.better_in) == (3, 4, 3)
    assert evidence.words.difference == pytest.approx((20 + 10 + 5 - 10) / 4)


def test_parameters() -> None:
    verdict, (more, equal) = of(PARAMETERS, soft_feed_large=90, soft_feed=70, soft=70)
    assert (more.verdict, equal.verdict) == ("supported", "not significant")
    assert verdict == "supported in part"


def test_hard_against_soft_without_figures_of_the_paper() -> None:
    results = [
        result("wikidata-names/korean", system, seed=seed, correct=right(count))
        for system, count in (("hard", 90), ("soft", 60))
        for seed in range(SEEDS)
    ]
    verdict, (exact, _) = decide(HARD, collect(results))
    assert verdict == "supported"
    assert exact.evidence is not None
    assert exact.evidence.paper is None


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
