from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from hardalign.data.check import (
    _GROUPS,
    FEW,
    MANY,
    Finding,
    Report,
    check,
    describe,
    is_invisible,
    look_alikes,
    quick_check,
)
from hardalign.data.formats import FORMATS, Format
from hardalign.data.reading import examples_of

PAIRS = FORMATS["pairs"]


def report(
    rows: list[tuple[str, ...]],
    layout: Format = PAIRS,
    against: list[tuple[str, ...]] | None = None,
) -> Report:
    spelt = replace(layout, normalization="none", source_case="keep")
    training = None if against is None else examples_of(against, spelt)
    return check(examples_of(rows, spelt), layout, training)


def findings(*args: object, **options: object) -> dict[str, Finding]:
    return {one.kind: one for one in report(*args, **options).findings}  # type: ignore[arg-type]


def clean(count: int) -> list[tuple[str, ...]]:
    """Pairs in which nothing is odd but their number."""
    return [(f"{n:b}".rjust(20, "0"), f"{n:b}".rjust(20, "1")) for n in range(count)]


def test_what_is_not_odd_is_not_found() -> None:
    assert list(findings(clean(50))) == ["size"]
    assert findings(clean(50), against=clean(60)[50:]) == {}


def test_figures() -> None:
    one = report([("a", "xy"), ("abc", "x"), ("ab", "xyz"), ("ab", "x")])
    assert (one.pairs, one.sources, one.source_symbols, one.target_symbols) == (4, 3, 3, 3)
    assert one.source_length == (1, 2, 3)
    assert one.target_length == (1, 1.5, 3)
    assert json.loads(json.dumps(asdict(one)))["pairs"] == 4


def test_duplicates_are_no_contradictions() -> None:
    twice = findings([("ab", "x"), ("ab", "y"), ("ab", "x"), ("ab", "x")])
    assert twice["duplicates"].count == 2
    assert twice["duplicates"].samples[0] == "line 3: ab → x (as line 1)"
    assert twice["contradictions"].count == 1
    assert twice["contradictions"].samples == ("line 1: ab → x; line 2: ab → y",)


def test_the_same_lemma_with_other_tags_is_another_question() -> None:
    rows: list[tuple[str, ...]] = [("go", "goes", "V;3"), ("go", "went", "V;PST")]
    assert "contradictions" not in findings(rows, FORMATS["sigmorphon"])
    contradiction = findings([*rows, ("go", "goed", "V;PST")], FORMATS["sigmorphon"])
    assert "(V;PST) → went" in contradiction["contradictions"].samples[0]


def test_spellings_that_are_read_alike_are_duplicates() -> None:
    rows: list[tuple[str, ...]] = [("É", "x"), ("e\u0301", "x")]
    assert "duplicates" not in findings(rows)
    assert "duplicates" in findings(rows, replace(PAIRS, source_case="lower"))


def test_rare_and_odd_symbols() -> None:
    odd = findings([*clean(20), ("0q1", "11"), ("\u0430a", "1\u200d")])
    rare = odd["rare source symbols"]
    assert rare.count == 3
    assert rare.samples[0] == "q (U+0071 LATIN SMALL LETTER Q) × 1, first in line 21"
    assert odd["look-alike source symbols"].count == 1
    assert "CYRILLIC SMALL LETTER A" in odd["look-alike source symbols"].samples[0]
    assert odd["invisible target symbols"].samples == ("U+200D × 1, first in line 22",)
    assert "rare tag symbols" not in odd


def test_mixed_normalisation() -> None:
    rows: list[tuple[str, ...]] = [("é", "x"), ("e\u0301", "y"), ("a", "e\u0301")]
    mixed = findings(rows)["mixed normalisation"]
    assert mixed.count == 2
    assert "no harm" in mixed.message
    raw = replace(PAIRS, normalization="none")
    assert "two symbols" in findings(rows, raw)["mixed normalisation"].message
    assert "mixed normalisation" not in findings(rows[1:])  # all the same way


def test_targets_that_cannot_be_predicted_whole() -> None:
    assert "long targets" not in findings([("a", "x" * 12)])
    assert findings([("a", "x" * 13)])["long targets"].count == 1
    tagged: list[tuple[str, ...]] = [("a", "x" * 13, "N")]
    assert "long targets" not in findings(tagged, FORMATS["sigmorphon"])


def test_against_the_training_data() -> None:
    test: list[tuple[str, ...]] = [("ab", "x"), ("ab", "y"), ("ac", "x"), ("dd", "x")]
    compared = findings(test, against=[("zz", "x"), ("ab", "z"), ("ca", "x")])
    shared = compared["sources in training"]
    assert shared.count == 1
    assert shared.samples == ("line 1: ab → x (there line 2)",)
    assert compared["unknown symbols"].samples == ("d (U+0064 LATIN SMALL LETTER D) × 2",)
    assert compared["unspellable symbols"].samples == ("y (U+0079 LATIN SMALL LETTER Y) × 1",)
    assert not any(kind.startswith("rare") for kind in compared)


def test_the_size_it_can_feed() -> None:
    assert "fewer than" in findings(clean(FEW - 1))["size"].message
    assert findings(clean(FEW) * 2)["size"] == Finding(
        "size", FEW, "different pairs, enough for size small"
    )
    assert "large" in findings(clean(MANY))["size"].message


def test_only_some_samples_are_shown() -> None:
    several = findings([("a", str(n)) for n in range(3)] * 10)["duplicates"]
    assert several.count == 27
    assert len(several.samples) == 5


def test_blanks_at_the_ends() -> None:
    rows = [("ab ", "x"), ("ab", "\u00a0y"), ("a b", "x y")]
    assert findings(rows)["blanks at the ends"].samples == (
        "line 1: ab  → x",
        "line 2: ab → \u00a0y",
    )
    phones = findings([("ab", " X  Y "), ("a", "X")], FORMATS["lexicon"])
    assert "blanks at the ends" not in phones


def problems(rows: list[tuple[str, ...]], layout: Format = PAIRS) -> list[str]:
    return quick_check(examples_of(rows, layout), layout)


LEXICON: list[tuple[str, ...]] = [
    ("cat", "K AE1 T"),
    ("action", "AE1 K SH AH0 N"),
    ("of", "AH1 V"),
    ("thought", "TH AO1 T"),
    ("knights", "N AY1 T S"),
]


def test_a_lexicon_that_is_read_as_pairs() -> None:
    (problem,) = problems(LEXICON)
    assert "'K AE1 T'" in problem
    assert "--format lexicon" in problem
    assert findings(LEXICON)["format"].message == problem
    assert problems(LEXICON, FORMATS["lexicon"]) == []
    assert problems(LEXICON[:4]) == []  # too few to be sure


def test_spaced_letters() -> None:
    spaced = [(" ".join(word), phones) for word, phones in LEXICON]
    assert all("--format spaced" in problem for problem in problems(spaced))
    assert len(problems(spaced)) == 2
    assert "--format spaced" in problems(spaced, FORMATS["lexicon"])[0]
    assert problems(spaced, FORMATS["spaced"]) == []


def test_pairs_with_blanks_that_are_no_separators() -> None:
    names = [("new york", "Нью Йорк"), ("los angeles", "Лос Анджелес"), ("san jose", "Сан-Хосе")]
    korean = [("barack obama", "버락 오바마"), ("kim min su", "김 민 수"), ("ji sung", "지 성")]
    pinyin = [("北京大学", "bei jing da xue"), ("中国", "zhong guo"), ("香港", "xiang gang")]
    letters = [("a", "b c"), ("b", "d e"), ("c", "f g")]
    for rows in (names, korean, pinyin, letters):
        assert problems([*rows, *rows]) == []


def test_tags_in_the_column_of_forms() -> None:
    forms = [("walk", "V;PST", "walked"), ("go", "V;PRS;3;SG", "goes"), ("go", "V", "go")] * 3
    (problem,) = problems(forms, FORMATS["sigmorphon"])
    assert "--columns source,tags,target" in problem
    right = replace(FORMATS["sigmorphon"], columns=("source", "tags", "target"))
    assert problems(forms, right) == []
    assert problems([(x, y, t) for x, t, y in forms], FORMATS["sigmorphon"]) == []
    shouted = [("NATO", "NATOS", "N;PL"), ("EU", "EUS", "N;PL")] * 3
    assert problems(shouted, FORMATS["sigmorphon"]) == []


def test_quotation_marks_of_a_spreadsheet() -> None:
    rows = [(f'"{word}"', f'"{phones}"') for word, phones in LEXICON]
    assert "name the file .csv" in problems(rows, FORMATS["lexicon"])[0]
    assert problems([(word, f'"{phones}"') for word, phones in LEXICON], FORMATS["lexicon"]) == []


def test_twins_of_other_scripts() -> None:
    assert look_alikes(["a", "b", "\u0430", "o", "O"]) == [("a", "\u0430")]
    assert look_alikes(["g", "\u0261"]) == [("g", "\u0261")]
    assert look_alikes(["'", "\u2019", "`"]) == [("'", "`", "\u2019")]


def test_symbols_of_several_characters() -> None:
    assert look_alikes(["ka", "k\u0430", "kb"]) == [("ka", "k\u0430")]


def test_letters_that_are_both_needed_are_no_twins() -> None:
    assert look_alikes("xχaɑuʊvʋiɪnŋgɣθɵsʃzʒeəɛoɔ") == []


def test_no_character_is_in_two_groups() -> None:
    characters = "".join(_GROUPS)
    assert len(set(characters)) == len(characters)


@pytest.mark.parametrize("symbol", ["\u00a0", "\u200d", "\u200b", "\ufeff", "\t", "\u3000"])
def test_invisible(symbol: str) -> None:
    assert is_invisible(symbol)
    assert describe(symbol) == f"U+{ord(symbol):04X}"


@pytest.mark.parametrize("symbol", [" ", "a", "AE1", "\u0301", "한"])
def test_visible(symbol: str) -> None:
    assert not is_invisible(symbol)
    assert describe(symbol).startswith(symbol)
