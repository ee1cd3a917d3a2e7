from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hardalign.data.folding import Folding
from hardalign.data.formats import Example
from hardalign.data.lexicon import Lexicon, read_lexicon
from hardalign.data.vocabulary import UnknownSymbols
from hardalign.predictor import Prediction
from hardalign.search import Search
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
