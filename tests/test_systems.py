from __future__ import annotations

import pytest

from hardalign.errors import HardalignError
from hardalign.systems import DEFAULT_SYSTEM, SCORES, SYSTEMS, System, find_system


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"attention": "chain", "objective": "reinforce"}, "cannot be drawn each for itself"),
        ({"attention": "monotone chain", "objective": "reinforce"}, "cannot be drawn"),
        ({"attention": "chain", "head": "soft"}, "no position"),
        ({"attention": "chain", "feeding": "merged", "objective": "particles"}, "content"),
        ({"attention": "prior", "feeding": "merged", "objective": "particles"}, "content"),
        ({"head": "soft", "objective": "reinforce"}, "no positions to draw"),
        ({"head": "soft", "objective": "particles", "feeding": "merged"}, "no positions to draw"),
        ({"objective": "particles"}, "nothing to draw"),
        ({"feeding": "merged"}, "too many to sum over"),
        ({"attention": "pointer"}, "go together"),
        ({"head": "pointer", "attention": "pointer", "feeding": "pointed"}, "go together"),
        ({"objective": "oracle"}, "go together"),
        ({"feeding": "pointed"}, "go together"),
    ],
)
def test_what_makes_no_sense_is_refused(parts: dict[str, str], why: str):
    with pytest.raises(HardalignError, match=why):
        System("–", "", **parts)  # type: ignore[arg-type]


ALIGNMENTS = {"hard": "posterior", "soft": "attention", "monotonic": "path"}


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_follows_from_a_row(name: str):
    row = SYSTEMS[name]
    assert row.alignment == ALIGNMENTS[name if name == "monotonic" else name.split("-")[0]]
    expected = "best path" if name == "monotonic" else "exact"
    expected = "decoding rule" if name.startswith("hard-feed") else expected
    assert row.score == expected
    assert row.score in SCORES
    assert row.exportable == ("feed" not in name and name != "monotonic")
    feedback = {"hard-feed": "posterior", "hard-feed-reinforce": "alpha"}
    assert row.feedback == feedback.get(name)


def test_the_paper_has_seven_systems():
    papers = [row.paper for row in SYSTEMS.values() if row.paper != "–"]
    assert sorted(set(papers)) == sorted(["1", "2", "3", "4", "M", "R", "U"])
    assert len(SYSTEMS) == 11


def test_the_default_is_recommended_for_something():
    assert find_system(DEFAULT_SYSTEM).advice


def test_no_such_system():
    with pytest.raises(HardalignError, match=r"no system is called 'hrad'; there are .*hard"):
        find_system("hrad")
