from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import example as example_of
from hypothesis import given
from hypothesis import strategies as st

from hardalign.data import inflection
from hardalign.data.formats import Example
from hardalign.data.inflection import PRIOR, SEPARATOR, KnownForms
from hardalign.errors import HardalignError


def example(lemma: str, form: str, tags: str) -> Example:
    return Example(tuple(lemma), (tuple(form),), tuple(tags.split(";")), lemma)


NOUNS = [
    example(lemma, form, tags)
    for lemma, plural, definite in (
        ("hus", "huse", "huset"),
        ("bil", "biler", "bilen"),
        ("dyr", "dyr", "dyret"),
        ("kop", "kopper", "koppen"),
    )
    for form, tags in ((plural, "N;PL"), (plural + "s", "N;PL;GEN"), (definite, "N;SG;DEF"))
]


def beside(forms: KnownForms, lemma: str, tags: str) -> tuple[str, str]:
    read = forms.beside(Example(tuple(lemma), (), tuple(tags.split(";")), lemma))
    assert read.text == lemma
    return "".join(read.source), ";".join(read.tags)


def test_the_form_comes_first_from_which_the_one_asked_for_follows():
    one, two, all_ = (KnownForms.of(NOUNS, count) for count in (1, 2, 9))
    assert beside(one, "hus", "N;PL") == ("hus||huses", "N;PL;1:N;1:PL;1:GEN")
    assert beside(two, "hus", "N;PL") == (
        "hus||huses||huset",
        "N;PL;1:N;1:PL;1:GEN;2:N;2:SG;2:DEF",
    )
    assert beside(all_, "hus", "N;PL") == beside(two, "hus", "N;PL")
    assert beside(one, "bil", "N;PL;GEN") == ("bil||biler", "N;PL;GEN;1:N;1:PL")


def test_a_cell_that_nobody_has_seen_is_given_the_one_with_most_common_tags():
    forms = KnownForms.of(NOUNS, 1)
    assert beside(forms, "kop", "N;SG;DEF;GEN") == (
        "kop||koppen",
        "N;SG;DEF;GEN;1:N;1:SG;1:DEF",
    )


def test_an_unknown_lemma_stays_as_it_is():
    assert beside(KnownForms.of(NOUNS, 3), "sko", "N;PL") == ("sko", "N;PL")


def test_every_target_of_an_example_is_a_known_form():
    both = Example(tuple("mus"), (tuple("mus"), tuple("muse")), ("N", "PL"))
    forms = KnownForms.of([*NOUNS, both], 2)
    assert beside(forms, "mus", "N;SG;DEF")[0] == "mus||mus||muse"


def test_data_without_paradigms_are_refused():
    alone = [example("cat", "cats", "PL"), example("dog", "dogs", "PL")]
    with pytest.raises(HardalignError, match="no known forms to learn from"):
        KnownForms.of(alone, 1)


def test_many_forms_are_compared_no_longer_than_a_second(monkeypatch):
    monkeypatch.setattr(inflection, "MOST_COMPARED", 6)  # those of the first noun
    one = KnownForms.of(NOUNS[3:6] + NOUNS, 1)
    assert one._regularity.keys() == {
        (one.rows[a][1], one.rows[b][1]) for a in range(3) for b in range(3) if a != b
    }
    assert all(lemmas == 1 for lemmas, _ in one._regularity.values())


def test_more_forms_than_a_folder_may_hold_are_refused(monkeypatch):
    monkeypatch.setattr(inflection, "JSON_LIMIT", 100)
    with pytest.raises(HardalignError, match="12 forms are too many"):
        KnownForms.of(NOUNS, 1)


def plain_choice(rows, lemma, tags, count):
    """The rule of the module's docstring, as loops over all rows for each question."""

    def regularity(known):
        ways = Counter()
        for one, one_tags, form in rows:
            for other, other_tags, wanted in rows:
                if one == other and (one_tags, other_tags) == (known, tags):
                    same = max(n for n in range(9) if form[:n] == wanted[:n])
                    ways[form[same:], wanted[same:]] += 1
        common = len({*known} & {*tags}) / len({*known} | {*tags})
        return (max(ways.values(), default=0) + PRIOR * common) / (ways.total() + PRIOR)

    cells = [row[1:] for row in rows if row[0] == lemma and row[1] != tags]
    return sorted(cells, key=lambda cell: -regularity(cell[0]))[:count]


def random_paradigms(seed: int) -> list[inflection.Row]:
    """Six lemmas with most of five cells, whose endings follow from each other by chance."""
    draw = random.Random(seed)
    cells = [("N", "SG"), ("N", "PL"), ("N", "PL", "GEN"), ("V", "SG"), ("V",)]
    rows = [
        (tuple(lemma), cell, tuple(lemma + draw.choice(("", "s", "en"))))
        for lemma in ("ab", "ba", "aab", "bba", "abab", "b")
        for cell in cells
        if draw.random() < 0.8
    ]
    draw.shuffle(rows)
    return rows


def test_the_choice_is_that_of_plain_loops():
    """And is seldom that of the tags alone, or of the order in the file."""
    by_tags = by_order = questions = 0
    for seed in range(20):
        rows = random_paradigms(seed)
        for lemma, tags in sorted({(row[0], row[1]) for row in rows}):
            cells = [row[1:] for row in rows if row[0] == lemma and row[1] != tags]
            for count in (1, 2):
                chosen = plain_choice(rows, lemma, tags, count)
                read = KnownForms(tuple(rows), count).beside(Example(lemma, (), tags))
                source, all_tags = lemma, tags
                for number, (known, form) in enumerate(chosen, start=1):
                    source += (SEPARATOR, *form)
                    all_tags += tuple(f"{number}:{tag}" for tag in known)
                assert (read.source, read.tags) == (source, all_tags)
                alike = sorted(cells, key=lambda cell: -len({*cell[0]} & {*tags}))
                questions += 1
                by_tags += chosen == alike[:count]
                by_order += chosen == cells[:count]
    assert questions > 500
    assert max(by_tags, by_order) < 0.7 * questions


symbols = st.lists(st.text(st.characters(), min_size=1, max_size=3), max_size=4).map(tuple)
breaks = (("\u2028", "\x85", "\n"), ("\r",), ("\x1c",))


@given(st.lists(st.tuples(symbols, symbols, symbols), min_size=1).map(tuple), st.integers(1, 9))
@example_of((breaks,), 1)
def test_forms_survive_a_round_trip(rows, count):
    forms = KnownForms(rows, count)
    assert KnownForms.from_bytes(forms.to_bytes(), count) == forms


@pytest.mark.parametrize(
    "content",
    [
        *(b"{", b"\xff\xfe", b"5", b"[" * 100_000),
        *(b'["a", "b", "c"]', b'[["a"], ["b"]]', b'[["a"], ["b"], [5]]'),
    ],
)
def test_damaged_files_are_refused(content):
    with pytest.raises(HardalignError, match="damaged"):
        KnownForms.from_bytes(content, 1)
