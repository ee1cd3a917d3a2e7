from __future__ import annotations

import pytest

from hardalign.config import DEFAULT_SYSTEM
from hardalign.errors import HardalignError
from hardalign.systems import SCORES, SYSTEMS, System, find_system

ALIGNMENTS = {"hard": "posterior", "soft": "attention", "monotonic": "path"}


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_follows_from_a_row(name: str):
    row = SYSTEMS[name]
    assert row.alignment == ALIGNMENTS[name if name == "monotonic" else name.split("-")[0]]
    expected = "best path" if name == "monotonic" else "exact"
    expected = "decoding rule" if name.startswith("hard-feed") else expected
    assert row.score == expected
    assert row.score in SCORES
    assert row.model.can_export == ("feed" not in name and name != "monotonic")


def test_the_paper_has_seven_systems():
    papers = [row.paper for row in SYSTEMS.values() if row.paper != "–"]
    assert sorted(set(papers)) == sorted(["1", "2", "3", "4", "M", "R", "U"])
    assert len(SYSTEMS) == 11


def test_the_default_is_recommended_for_something():
    assert find_system(DEFAULT_SYSTEM).advice


def test_no_such_system():
    with pytest.raises(HardalignError, match=r"no system is called 'hrad'; there are .*hard"):
        find_system("hrad")


@pytest.mark.parametrize(
    "path", ["no_such_module:Hard", "hardalign.systems.attention:No", "math:pi"]
)
def test_a_row_must_name_a_system(path: str):
    with pytest.raises(HardalignError, match=path):
        System(path, "").model  # noqa: B018
