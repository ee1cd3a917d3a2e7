from __future__ import annotations

import pytest

from hardalign.report.cells import collect
from hardalign.report.claims import FINDINGS, Finding
from hardalign.report.findings import Decision, Verdict, decide
from hardalign.systems import SYSTEMS
from report.synthetic import result, right

FEEDING, HARD, MONOTONIC, EXACT, PARAMETERS = FINDINGS


def of(
    finding: Finding, size: str = "small", **right_of_100: int
) -> tuple[Verdict, list[Decision]]:
    """Decide a finding by how many of 100 words of NETtalk systems have right."""
    systems = {name.replace("_", "-"): count for name, count in right_of_100.items()}
    return decide(
        finding,
        collect(result(system=name, size=size, correct=right(n)) for name, n in systems.items()),
    )


def test_claims_are_about_systems() -> None:
    names = {name for f in FINDINGS for claim in f.claims for name in (claim.better, claim.worse)}
    assert {SYSTEMS[name].paper for name in names} == set("1U234RM")


@pytest.mark.parametrize(
    ("hard", "sampled", "verdict"),
    [(80, 60, "supported"), (60, 80, "contradicted"), (71, 70, "not significant")],
)
def test_one_claim(hard: int, sampled: int, verdict: Verdict) -> None:
    found, (decision,) = of(EXACT, hard=hard, hard_sampled=sampled)
    assert found == decision.verdict == verdict
    assert decision.overall is not None
    assert decision.overall.test.difference == pytest.approx(hard - sampled)
    assert decision.overall.paper == pytest.approx(1.5)  # 28.8 and 30.3 WER
    assert decision.overall.better_in == (hard > sampled)
    assert (decision.overall.corpora, decision.overall.test.items) == (1, 100)


def test_no_runs_at_hand() -> None:
    found, decisions = of(FEEDING, hard=80)
    assert found == "no runs at hand"
    assert [decision.verdict for decision in decisions] == ["no runs at hand"] * 3


def test_runs_on_other_items_are_no_evidence() -> None:
    results = [result(items="old"), result(system="hard-sampled", items="new")]
    assert decide(EXACT, collect(results))[0] == "no runs at hand"


def test_toys_are_no_evidence() -> None:
    results = [
        result("toy:copy", system, correct=right(n))
        for system, n in (("hard", 80), ("hard-sampled", 20))
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
    found, decisions = of(MONOTONIC, soft=76, hard=76, monotonic=70)
    assert found == "not significant"
    for decision in decisions:
        assert decision.p == pytest.approx(2 * 2 / 64, abs=0.01)


def test_parts_by_task_and_size() -> None:
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
    assert decision.overall is not None
    overall = decision.overall
    assert (overall.corpora, overall.settings, overall.better_in) == (3, 4, 3)
    assert overall.test.difference == pytest.approx((20 + 10 + 5 - 10) / 4)
    assert {part.where: part.test.difference for part in decision.parts} == {
        "Grapheme-to-phoneme conversion, small": pytest.approx(15),
        "Grapheme-to-phoneme conversion, large": pytest.approx(5),
        "Morphological inflection, small": pytest.approx(-10),
    }


def test_parameters() -> None:
    verdict, (more, equal) = of(PARAMETERS, soft_feed_large=90, soft_feed=70, soft=70)
    assert (more.verdict, equal.verdict) == ("supported", "not significant")
    assert verdict == "supported in part"


def test_hard_against_soft_without_figures_of_the_paper() -> None:
    results = [
        result("wikidata-names/korean", system, correct=right(count))
        for system, count in (("hard", 90), ("soft", 60))
    ]
    verdict, (exact, _) = decide(HARD, collect(results))
    assert verdict == "supported"
    assert exact.overall is not None
    assert exact.overall.paper is None
