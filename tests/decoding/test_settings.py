from __future__ import annotations

import pytest

from hardalign.decoding import DEFAULT_BEAM, MASS_BEAM_LIMIT, Search
from hardalign.errors import HardalignError


@pytest.mark.parametrize(
    ("search", "width", "keep", "most"),
    [
        (Search(), 1, 1, 1),
        (Search(beam=4), 4, 1, 1),
        (Search(nbest=3), DEFAULT_BEAM, 3, 3),
        (Search(nbest=9), 9, 9, 9),
        (Search(beam=9, nbest=9), 9, 9, 9),
        (Search(samples=7), 1, 1, 7),
        (Search(mass=0.5), 1, 1, MASS_BEAM_LIMIT),
    ],
)
def test_what_is_not_given_follows(search: Search, width: int, keep: int, most: int) -> None:
    assert (search.width, search.keep, search.most) == (width, keep, most)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"beam": 0}, "beam"),
        ({"nbest": 0}, "nbest"),
        ({"samples": -1}, "samples"),
        ({"samples": 10**8}, "samples must be from 1 to 10000"),
        ({"beam": 10**8}, "beam must be from 1 to 10000"),
        ({"nbest": 10**8}, "nbest must be from 1 to 10000"),
        ({"seed": -1}, "seed"),
        ({"mass": 0.0}, "mass"),
        ({"mass": 1.0}, "mass"),
        ({"mass": float("nan")}, "mass"),
        ({"beam": 2, "nbest": 3}, "widen"),
        ({"mass": 0.5, "beam": 3}, "one of"),
        ({"mass": 0.5, "samples": 3}, "one of"),
        ({"nbest": 2, "samples": 3}, "one of"),
    ],
)
def test_the_impossible_is_refused(wrong: dict[str, int], word: str) -> None:
    with pytest.raises(HardalignError, match=word):
        Search(**wrong)
