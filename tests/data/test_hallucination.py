from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise

import pytest

from hardalign.data.formats import Example
from hardalign.data.inflection import hallucinate
from hardalign.errors import HardalignError


def example(source: str, target: str, *tags: str) -> Example:
    return Example(tuple(source), (tuple(target),), tags)


VERBS = [
    example(stem, prefix + stem + suffix, tag)
    for stem in ("walk", "talk", "jump", "climb", "start", "end")
    for prefix, suffix, tag in (("", "ed", "PST"), ("ge", "t", "PTCP"))
]


def test_affixes_and_tags_stay_and_stems_are_the_same_on_both_sides():
    affixes = {"PST": ("", "ed"), "PTCP": ("ge", "t")}
    invented = hallucinate(VERBS, 200, 0)
    assert len(invented) == 200
    for one in invented:
        stem, form = "".join(one.source), "".join(one.targets[0])
        prefix, suffix = affixes[one.tags[0]]
        assert form == prefix + stem + suffix
        assert (stem[0], stem[-1]) in {(verb.source[0], verb.source[-1]) for verb in VERBS}
    assert {one.tags for one in invented} == {("PST",), ("PTCP",)}
    known = {"".join(verb.source) for verb in VERBS}
    assert sum("".join(one.source) in known for one in invented) < 50


def test_no_symbol_is_new():
    symbols = {symbol for verb in VERBS for symbol in verb.source}
    assert {symbol for one in hallucinate(VERBS, 200, 0) for symbol in one.source} <= symbols


def test_the_seed_decides():
    assert hallucinate(VERBS, 20, 1) == hallucinate(VERBS, 20, 1) != hallucinate(VERBS, 20, 2)
    assert hallucinate(VERBS, 5, 1) == hallucinate(VERBS, 20, 1)[:5]
    assert hallucinate(VERBS, 0, 1) == []


PAST = [verb for verb in VERBS if verb.tags == ("PST",)]
PARTICIPLE = next(verb for verb in VERBS if verb.tags == ("PTCP",))


def test_rare_tags_are_drawn_more_often():
    invented = hallucinate([*PAST * 80, *[PARTICIPLE] * 20], 4000, 0)
    # Of 500 pairs 20 have a tag that no other has; the tag of the others occurs 480 times.
    share = sum(one.tags == ("PTCP",) for one in invented) / len(invented)
    rare, frequent = 20 * (10 + 20) ** -0.5, 480 * (10 + 480) ** -0.5
    assert share == pytest.approx(rare / (rare + frequent), abs=0.02)


def test_with_plenty_of_inventions_all_pairs_are_drawn_alike():
    invented = hallucinate([*PAST * 5, PARTICIPLE], 4000, 0)
    share = sum(one.tags == ("PTCP",) for one in invented) / len(invented)
    assert share == pytest.approx(1 / 31, abs=0.01)


def test_pairs_without_tags_are_drawn_alike():
    untagged = [replace(verb, tags=()) for verb in VERBS] * 20
    ends = sum("".join(one.targets[0][-2:]) == "ed" for one in hallucinate(untagged, 2000, 0))
    assert ends == pytest.approx(1000, abs=100)


def test_what_changes_inside_a_stem_is_kept():
    invented = hallucinate([example("beginnen", "begannen", "PST")] * 9, 50, 0)
    for one in invented:
        stem, form = one.source, one.targets[0]
        changes = [(x, y) for x, y in zip(stem, form, strict=True) if x != y]
        assert changes == [("i", "a")]


def test_each_target_of_an_example_counts():
    both = Example(tuple("dream"), (tuple("dreamed"), tuple("dreamt")), ("PST",))
    invented = [one for one in hallucinate([*VERBS, both], 200, 0) if one.source[0] == "d"]
    endings = {"".join(one.targets[0])[len(one.source) :] for one in invented}
    assert endings == {"ed", "t"}


def test_pairs_that_share_nothing_are_refused():
    with pytest.raises(HardalignError, match="no source shares three symbols"):
        hallucinate([example("cat", "kæt"), example("dog", "dɒg")], 5, 0)


def test_stems_are_as_long_as_those_of_the_data():
    stems = ["bilg", "hump", "cost"] * 3 + ["cumohapnys", "flaminzory", "brunkaltis"]
    pairs = [example(stem, f"{stem}ed", "PST") for stem in stems]
    lengths = Counter(len(one.source) for one in hallucinate(pairs, 4000, 0))
    assert lengths.keys() == {4, 10}
    assert lengths[4] / 4000 == pytest.approx(3 / 4, abs=0.03)


def test_half_of_the_letters_follow_the_one_before_as_in_the_data():
    stems = ["bolimura", "limurabo", "murafoli", "raboliti", "bomutimu", "tiralino"]
    pairs = [example(stem, f"{stem}ed", "PST") for stem in stems]
    followers: dict[str, Counter[str]] = defaultdict(Counter)
    letters = Counter(letter for stem in stems for letter in stem)
    for stem in stems:
        for before, letter in pairwise(stem):
            followers[before][letter] += 1
    drawn: dict[str, Counter[str]] = defaultdict(Counter)
    for one in hallucinate(pairs, 4000, 0):
        for before, letter in pairwise(one.source[:-1]):  # the last letter is that of the stem
            drawn[before][letter] += 1
    for before in "blmri":
        for letter in letters:
            by_pair = followers[before][letter] / followers[before].total()
            expected = (by_pair + letters[letter] / letters.total()) / 2
            share = drawn[before][letter] / drawn[before].total()
            assert share == pytest.approx(expected, abs=0.03)
