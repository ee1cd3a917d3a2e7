import json
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardalign.data.formats import (
    FORMATS,
    Example,
    Format,
    evaluation_items,
    in_letters,
    recut,
    training_pairs,
)
from hardalign.data.text import part, unite
from hardalign.errors import HardalignError


def test_the_five_formats():
    assert list(FORMATS) == ["pairs", "lexicon", "spaced", "sigmorphon", "news"]
    assert all(name == entry.name for name, entry in FORMATS.items())
    assert [name for name, entry in FORMATS.items() if entry.is_xml] == ["news"]


def test_each_format_cuts_its_own_way():
    assert FORMATS["pairs"].target_symbols("a b") == ("a", " ", "b")
    assert FORMATS["lexicon"].source_symbols("ab") == ("a", "b")
    assert FORMATS["lexicon"].target_symbols("EY1 B ") == ("EY1", "B")
    assert FORMATS["spaced"].source_symbols("a bc ") == ("a", "bc")
    assert FORMATS["sigmorphon"].tag_symbols("N; PL") == ("N", "PL")


def test_joining():
    assert FORMATS["lexicon"].join_target(("EY1", "B")) == "EY1 B"
    assert FORMATS["lexicon"].join_source(("a", "b")) == "ab"


def test_white_space_has_no_symbols():
    assert FORMATS["pairs"].source_symbols("  ") == ()
    assert FORMATS["pairs"].target_symbols("") == ()
    assert FORMATS["sigmorphon"].tag_symbols(" ") == ()


def test_normalisation_comes_before_segmentation():
    assert FORMATS["pairs"].source_symbols("e\u0301") == ("é",)
    assert replace(FORMATS["pairs"], normalization="NFD").source_symbols("é") == ("e", "\u0301")
    assert len(replace(FORMATS["pairs"], normalization="NFD").source_symbols("한국")) == 6


def test_what_was_taken_apart_is_written_whole():
    parted = replace(FORMATS["pairs"], normalization="NFD")
    symbols = parted.target_symbols("한국 é")
    assert len(symbols) == 9
    assert parted.join_target(symbols) == parted.join_source(symbols) == "한국 é"
    assert parted.counted(symbols) == tuple("한국 é")
    assert parted.target_symbols(parted.join_target(symbols)) == symbols


def test_symbols_that_a_separator_parts_stay_apart():
    parted = replace(FORMATS["lexicon"], normalization="NFKD")
    symbols = parted.target_symbols("é \u0301 e")
    assert symbols == ("e\u0301", "\u0301", "e")
    assert parted.join_target(symbols) == "é \u0301 e"
    assert parted.counted(symbols) == ("é", "\u0301", "e")


def test_target_symbols_can_be_cut_into_characters():
    layout = replace(FORMATS["lexicon"], target_parts=True)
    symbols = layout.target_symbols("tʰ aː n + ++")
    assert symbols == ("t", "+ʰ", "a", "+ː", "n", "+", "+", "++")
    assert layout.join_target(symbols) == "tʰ aː n + ++"
    assert layout.counted(symbols) == ("tʰ", "aː", "n", "+", "++")
    assert layout.source_symbols("aː") == ("a", "ː")
    assert "target symbols in characters" in layout.treatment
    # Parts of parts: the characters that a normal form takes apart.
    both = replace(layout, normalization="NFD")
    assert both.target_symbols("é") == ("e", "+\u0301")
    assert both.join_target(both.target_symbols("é a")) == "é a"


def test_a_part_without_a_beginning_begins_a_symbol():
    layout = replace(FORMATS["lexicon"], target_parts=True)
    assert layout.counted(("+ʰ", "t", "+ː")) == ("ʰ", "tː")


def test_symbols_that_are_characters_have_no_parts():
    layout = replace(FORMATS["pairs"], target_parts=True)
    assert layout.target_symbols("a+b") == ("a", "+", "b")
    assert layout.join_target(("a", "+", "b")) == "a+b"
    assert layout.treatment == "NFC"


@given(st.lists(st.text(st.characters(exclude_characters=" \t\r\n"), min_size=1)))
def test_parts_are_put_together_again(symbols: list[str]):
    parts = part(tuple(symbols))
    assert unite(parts) == tuple(symbols)
    assert len(parts) == len("".join(symbols))


def test_nothing_else_is_composed():
    for form in ("NFC", "none"):
        layout = replace(FORMATS["pairs"], normalization=form)
        assert layout.join_target(("e", "\u0301")) == "e\u0301"
        assert layout.counted(("e", "\u0301")) == ("e", "\u0301")


def test_the_limit_of_length_counts_symbols():
    short = replace(FORMATS["lexicon"], max_length=3)
    assert short.target_symbols("AA1 BB CC") == ("AA1", "BB", "CC")
    with pytest.raises(HardalignError, match=r"source 'abcd' has 4 .* limit of 3.*with max_length"):
        short.source_symbols("abcd")


def test_an_empty_tag_is_refused():
    for text in ("N;;PL", "N;", "N; ;PL"):
        with pytest.raises(HardalignError, match="empty"):
            FORMATS["sigmorphon"].tag_symbols(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": ("target",)}, "exactly one source"),
        ({"columns": ()}, "exactly one source"),
        ({"columns": ("source", "source")}, "exactly one source"),
        ({"columns": ("source", "target", "target")}, "at most one target"),
        ({"columns": ("source", "tags", "tags")}, "at most one target and tags"),
        ({"columns": ("source", "form")}, "unknown column 'form'.*source, target, tags, -"),
        ({"normalization": "nfc"}, "unknown normalization 'nfc'; choose one of NFC"),
        ({"source_case": "upper"}, "unknown source case 'upper'; choose one of keep, lower"),
        ({"source_separator": "X", "source_case": "lower"}, "survive in lower case"),
        ({"max_length": 0}, "at least 1"),
        ({"source_separator": "\t"}, "cannot contain"),
        ({"tag_separator": "\n"}, "cannot contain"),
        ({"target_separator": "é", "normalization": "NFD"}, "does not survive"),
        ({"name": "news", "columns": ("target", "source")}, "XML and has no columns"),
    ],
)
def test_impossible_formats(change, message):
    with pytest.raises(HardalignError, match=message):
        Format(**{"name": "mine", **change})


def test_frozen():
    with pytest.raises(FrozenInstanceError):
        FORMATS["pairs"].name = "other"


@pytest.mark.parametrize("entry", [*FORMATS.values(), Format("x", ("-", "source"), "|", ":")])
def test_json_round_trip(entry):
    assert Format.from_dict(json.loads(json.dumps(entry.to_dict()))) == entry


def test_a_format_of_the_first_model_folders():
    old = FORMATS["lexicon"].to_dict()
    del old["source_case"]
    assert Format.from_dict(old) == FORMATS["lexicon"]


@pytest.mark.parametrize(
    ("text", "normalization", "symbols"),
    [
        ("Éa", "NFC", "éa"),
        ("E\u0301a", "NFC", "éa"),
        ("İ", "NFC", "i\u0307"),
        ("ℌX", "NFKC", "hx"),  # a capital only once it is normalised
        ("Σ", "none", "σ"),
    ],
)
def test_sources_in_lower_case(text: str, normalization: str, symbols: str):
    entry = Format("mine", source_case="lower", normalization=normalization)
    assert entry.source_symbols(text) == tuple(symbols)
    assert entry.target_symbols("A") == ("A",)
    assert entry.tag_symbols("N;PL") == ("N", "PL")


@given(st.text())
def test_lower_case_is_lower_case(text: str):
    entry = Format("mine", source_case="lower")
    symbols = entry.source_symbols(text)
    assert entry.source_symbols(entry.join_source(symbols)) == symbols


@pytest.mark.parametrize(
    "damage",
    [
        {"columns": "source"},
        {"columns": ["source", 1]},
        {"columns": ["nix"]},
        {"max_length": "1000"},
        {"max_length": True},
        {"max_length": -1},
        {"normalization": None},
        {"source_case": True},
        {"extra": 1},
    ],
)
def test_damaged_json(damage):
    with pytest.raises(HardalignError):
        Format.from_dict({**FORMATS["pairs"].to_dict(), **damage})


@pytest.mark.parametrize("content", [None, [], "pairs", {}, {"name": 1}])
def test_json_of_something_else(content):
    with pytest.raises(HardalignError, match=r"the format is damaged"):
        Format.from_dict(content)


def test_every_target_becomes_a_training_pair():
    example = Example(("a",), (("x",), ("y",)), ("N",), "a", 7)
    assert list(training_pairs([example])) == [
        Example(("a",), (("x",),), ("N",), "a", 7),
        Example(("a",), (("y",),), ("N",), "a", 7),
    ]


def test_an_example_without_targets_gives_no_training_pair():
    assert list(training_pairs([Example(("a",))])) == []


def test_the_same_question_becomes_one_item_with_its_distinct_references():
    examples = [
        Example(("a",), (("x",),), line=1),
        Example(("b",), (("z",), ("z",)), line=2),
        Example(("a",), (("y",), ("x",)), line=3),
    ]
    assert evaluation_items(examples) == [
        Example(("a",), (("x",), ("y",)), line=1),
        Example(("b",), (("z",),), line=2),
    ]


def test_tags_make_another_question():
    examples = [Example(("a",), (("x",),), ("N",)), Example(("a",), (("x",),), ("V",))]
    assert evaluation_items(examples) == examples


def test_a_tag_is_no_source_symbol():
    assert Example(("N", "a")).key != Example(("a",), tags=("N",)).key


@pytest.mark.parametrize("name", ["pairs", "lexicon"])
@given(
    text=st.text("aé가한글ㅏ", min_size=1),
    target=st.lists(st.text("aé한", min_size=1, max_size=9), min_size=1),
)
def test_recut_is_reading_anew(name, text, target):
    old = FORMATS[name]
    new = replace(old, normalization="NFD")

    def read(layout):
        written = layout.target_separator.join(target)
        return Example(layout.source_symbols(text), (layout.target_symbols(written),), text=text)

    assert recut(read(old), old, new) == read(new)


def test_syllables_are_read_in_letters_where_they_are_the_words():
    korean, english = Example(("한", "국"), (("h", "a"),)), Example(("a",), (("한",),))
    spaced, parted = FORMATS["spaced"], replace(FORMATS["pairs"], normalization="NFD")
    assert in_letters(FORMATS["lexicon"], [korean, korean, english]).normalization == "NFD"
    assert in_letters(FORMATS["lexicon"], [korean, english, english]) == FORMATS["lexicon"]
    assert in_letters(FORMATS["pairs"], [english]).normalization == "NFD"
    assert in_letters(spaced, [korean]) == spaced
    assert in_letters(parted, [korean]) == parted
    other = replace(FORMATS["pairs"], normalization="NFKC")
    assert in_letters(other, [korean]) == other
